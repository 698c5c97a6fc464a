"""Text tables that cannot be understood without a word of the user, and what the message must contain."""

from __future__ import annotations

from bank import Unclear, position, quaternion, table
from bank_tables import xyz

UNCLEAR = [
    Unclear(
        "two_dimensions",
        table("time,x1,x2,y1,y2", lambda t: (t, 1.0, 2.0, 3.0, 4.0)),
        ("got 2 (x1, y1)", "--columns a=x1,x2,y1"),
    ),
    Unclear(
        "one_dimension",
        table("time,x", lambda t: (t, 1.0)),
        ("got 1 column (x) in all; add columns for the others (of zeros", "CHANNEL.x, CHANNEL.y, CHANNEL.z"),
    ),
    Unclear("one_dimension_without_names", table("", lambda t: (t, 1.0)), ("or add columns of zeros",)),
    Unclear("names_without_axes", table("time,foo,bar,baz", xyz), ("--columns foo,bar,baz",)),
    Unclear(
        "quaternions_without_axes",
        table("time,q1,q2,q3,q4", lambda t: (t, *quaternion(t))),
        ("got q1, q2, q3, q4", "in the order w, x, y, z", "--columns a=q1,q2,q3,q4"),
    ),
    Unclear("names_with_blanks", table("time,to (a),to (b),up", xyz), ("(--columns 'to (a),to (b),up')",)),
    Unclear(
        "time_unit_unknown",
        table("Timestamp,x,y,z", lambda t: (1000 * t, *position(t))),
        ("'Timestamp'", "--time-unit ms"),
    ),
    Unclear(
        "unknown_unit_of_times",
        table("time [ticks],x,y,z", xyz),
        ("the unit of the column 'time [ticks]', 'ticks', is not known", "--time-unit ms", "--ignore 'time [ticks]'"),
        options={"time": "time [ticks]"},
    ),
    Unclear(
        "unknown_unit_of_times_after_in",
        table("time in weeks,x,y,z", xyz),
        ("'weeks', is not known", "--time-unit ms"),
        options={"time": 1},
    ),
    Unclear("no_times", table("x,y,z", position), ("--rate", "--time")),
    Unclear(
        "rate_contradicts",
        table("time,x,y,z", xyz),
        ("the times of", "say 10 Hz, got 100 Hz", "--ignore 'time'"),
        options={"rate": 100.0},
    ),
    Unclear("unit_contradicts", table("time,x [m],y [m],z [m]", xyz), ("is in m, got mm",), options={"unit": "mm"}),
    Unclear(
        "units_differ_in_a_channel", table("time,x [m],y [m],z [mm]", xyz), ("expected one unit per channel", "m, mm")
    ),
    Unclear("no_header_four_columns", table("", xyz), ("--dimensions 4", "--time 1", "--columns 2,3,4")),
    Unclear(
        "positions_and_orientations",
        table("time,hip.x,hip.y,hip.z,imu.qw,imu.qx,imu.qy,imu.qz", lambda t: (*xyz(t), *quaternion(t))),
        ("hip (position); imu.q (orientation)", "--channels 'hip'", "--space position"),
    ),
    Unclear(
        "vectors_of_different_length",
        table("time,p.x,p.y,p.z,q.w,q.x,q.y,q.z", lambda t: (*xyz(t), *quaternion(t))),
        ("p (3-D vector); q (4-D vector); choose them, for example channels=['p'] (--channels 'p')",),
        options={"space": "vector"},
    ),
    Unclear(
        "words_in_the_first_row",
        table("time,x,y,z", lambda t: xyz(t) if t else ("0", "LOST", "LOST", "LOST")),
        ("line 2, column 2 (x): expected a finite number or an empty cell, got 'LOST'",),
    ),
    Unclear(
        "unknown_channel",
        table("time,hip.x,hip.y,hip.z", xyz),
        ("channels: expected some of hip", "'knee'"),
        options={"channels": ["knee"]},
    ),
    Unclear(
        "unknown_column",
        table("time,hip.x,hip.y,hip.z", xyz),
        ("columns: expected a column of", "hip.x", "'knee'"),
        options={"columns": ["knee,a,b"]},
    ),
    Unclear(
        "times_step_back",
        table("time,x,y,z", lambda t: ((t + 1) % 2, *position(t))),
        ("line 12, column 1 (time): expected increasing times",),
    ),
    Unclear(
        "coarse_times",
        table("time,x,y,z", lambda t: (float(int(t)), *position(t))),
        ("line 3, column 1 (time): expected increasing times", "10 rows per second", "--ignore 'time'", "--rate 10)"),
    ),
    Unclear(
        "header_of_other_width", "time,x,y\n" + table("", xyz), ("line 2: expected 3 columns as in line 1, got 4",)
    ),
    Unclear(
        "words_among_numbers",
        table("time,x,y,z", xyz).replace("\n1.5,2.5", "\n1.5,lost", 1),
        ("line 17, column 2 (x)", "'lost'"),
    ),
    Unclear(
        "underscore_in_a_number",
        table("time,x,y,z", xyz).replace("\n1.5,2.5", "\n1.5,2_5", 1),
        ("line 17, column 2 (x)", "'2_5'"),
    ),
    Unclear("names_of_numbers", table("1_1,1_2,1_3", position), ("--columns 1_1,1_2,1_3",), options={"rate": 10.0}),
    Unclear("latin1", table("time,é.x,é.y,é.z", xyz).encode("latin-1"), ("line 1", "0xe9", "--encoding latin-1")),
    Unclear(
        "mixed_encodings",
        table("time,x,y,z,note", lambda t: (*xyz(t), "ok")).encode().replace(b"ok\n1.5,", b"\xe9\xff\n1.5,"),
        ("line 16", "0xe9"),
    ),
    Unclear("nul_bytes", b"time,x,y,z\n0,1,2,3\n0.1,\x00,2,3\n", ("line 3", "NUL byte")),
    Unclear("utf16_le", table("time,x,y,z", xyz).encode("utf-16-le"), ("line 1", "--encoding utf-16-le")),
    Unclear("utf16_be", table("time,x,y,z", xyz).encode("utf-16-be"), ("line 1", "--encoding utf-16-be")),
    Unclear("bars", table("time|x|y|z", xyz, "|"), ("line 2 has '0|1|2|3', while numbers are separated by commas",)),
    Unclear(
        "quoted_decimal_commas",
        table("time,x,y,z", lambda t: ['"1,5"'] * 4),
        ("line 2 has '1,5', '1,5', '1,5', '1,5'",),
    ),
    Unclear(
        "commas_after_thousands",
        table("time;x;y;z", lambda t: (t + 0.05, "1,250", "2,000", "3,125"), ";"),
        ("commas that may stand after thousands, such as '1,250'",),
    ),
    Unclear(
        "month_not_clear",
        table("time,x,y,z", lambda t: (f"10/11/2024 10:00:{t:04.1f}", *position(t))),
        ("line 2, column 1 (time)", "a date such as 2024-10-27 00:59:30 or 27.10.2024", "'10/11/2024 10:00:00.0'"),
    ),
    Unclear("minutes_and_seconds", table("time,x,y,z", lambda t: (f"00:{t:04.1f}", *position(t))), ("a time of day",)),
    Unclear("only_a_header", "time,x,y,z\n", ("expected at least one row of numbers",)),
    Unclear(
        "infinite",
        table("time,x,y,z", xyz).replace("\n1.5,2.5", "\n1.5,inf", 1),
        ("line 17, column 2 (x)", "expected a finite number"),
    ),
    Unclear(
        "whole_numbers_without_unit", table("time,x,y,z", lambda t: (f"{50 * t:.0f}", *position(t))), ("--time-unit",)
    ),
    Unclear(
        "whole_numbers_that_repeat",
        "time,x,y,z\n" + "".join(f"{5 * (k - k // 20)},{k},0,0\n" for k in range(60)),
        ("a step of 5 s would be 0.2 Hz", "--time-unit ms"),
    ),
    Unclear(
        "rows_in_another_order",
        table("time,x,y,z", lambda t: (t * 70 % 99, *position(t))),
        ("column 1 (time): expected increasing times",),
    ),
    Unclear(
        "counter_called_t", table("t,x,y,z", lambda t: (f"{10 * t:.0f}", *position(t))), ("--ignore 't'", "the rate")
    ),
    Unclear("excel_workbook", b"PK\x03\x04" + bytes(100), ("an Excel workbook",), "xlsx"),
    Unclear(
        "euler_angles",
        table("time,head_roll,head_pitch,head_yaw", xyz),
        ("Euler angles (head_roll, head_pitch, head_yaw)", "not read", "qw, qx, qy, qz", "--columns head_roll,"),
    ),
    Unclear(
        "long_table",
        table("time,marker,x,y,z", lambda t: (t, "A", *position(t))) + table("", lambda t: (t, "B", *position(t, 1))),
        ("a long table", "'marker' (A, B)", "A.x, A.y, A.z, B.x", "table.pivot(index='time', columns='marker')"),
    ),
    Unclear(
        "long_table_by_time",
        "time,id,x,y,z\n" + "".join(f"{k / 10},{i},1,{k},{i}\n" for k in range(40) for i in range(3)),
        ("a long table", "'id' (0, 1, 2)"),
    ),
    Unclear(
        "long_table_of_frames",
        "frame,tool,x,y,z\n" + "".join(f"{k},{tool},1,{k},2\n" for k in range(40) for tool in ("probe", "bone")),
        ("a long table", "'tool' (probe, bone)", "index='frame'"),
        options={"rate": 10.0},
    ),
    Unclear(
        "column_used_twice",
        table("time,a,b,c", xyz),
        ("columns: expected each column once, got 'a', which is used twice",),
        options={"columns": ["hip=2,2,2"]},
    ),
    Unclear(
        "column_of_two_channels",
        table("time,a,b,c,d", lambda t: (*xyz(t), 1.0)),
        ("columns: expected each column once, got 'b', which is used twice",),
        options={"columns": ["hip=a,b,c", "knee=b,c,d"]},
    ),
    Unclear(
        "column_of_times_as_a_coordinate",
        table("time,a,b,c", xyz),
        ("got 'time', which is the column of the times", "--ignore 'time'"),
        options={"columns": ["hip=time,a,b"]},
    ),
]
