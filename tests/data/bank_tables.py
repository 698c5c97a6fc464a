"""Text tables: separators, headers, units, times, permuted columns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bank import Case, position, quaternion, table

HIP = {"channels": ("hip",)}
MM = {"units": ("mm",)}
START = datetime(2024, 2, 28, 23, 59, 58, tzinfo=UTC)


def xyz(t: float) -> tuple[float, ...]:
    return (t, *position(t))


def zxy(t: float) -> tuple[float, ...]:
    x, y, z = position(t)
    return t, z, x, y


def iso(t: float, form: str = "%Y-%m-%dT%H:%M:%S.%f") -> str:
    return (START + timedelta(seconds=t)).strftime(form)


def wxyz(t: float) -> tuple[float, ...]:
    return (t, *quaternion(t))


def xyzw(t: float) -> tuple[float, ...]:
    w, x, y, z = quaternion(t)
    return t, x, y, z, w


def plain(unit: str = "") -> tuple[str, ...]:
    return tuple(f"{axis}{unit}" for axis in "xyz")


TABLES = [
    Case("plain", table("time,hip.x,hip.y,hip.z", xyz), **HIP),
    Case("semicolon_decimal_comma", table("time;hip.x;hip.y;hip.z", xyz, ";", ","), **HIP),
    Case("tab_crlf", table("t\thip x\thip y\thip z", xyz, "\t", end="\r\n"), "tsv", **HIP),
    Case("old_mac_line_ends", table("time,hip.x,hip.y,hip.z", xyz, end="\r"), **HIP),
    Case("byte_order_mark", b"\xef\xbb\xbf" + table("time,hip.x,hip.y,hip.z", xyz).encode(), **HIP),
    Case("utf16_of_excel", table("time\thip.x\thip.y\thip.z", xyz, "\t").encode("utf-16"), "txt", **HIP),
    Case(
        "latin1_given",
        table("time,é.x,é.y,é.z", xyz).encode("latin-1"),
        options={"encoding": "latin-1"},
        channels=("é",),
    ),
    Case("permuted_columns", table("time,p_z,p_x,p_y", zxy), channels=("p",), columns=("p_z", "p_x", "p_y")),
    Case("units_in_square_brackets", table("time [s],x [mm],y [mm],z [mm]", xyz), **MM, columns=plain(" [mm]")),
    Case("units_in_round_brackets", table("Time (s),x(cm),y(cm),z(cm)", xyz), units=("cm",), columns=plain("(cm)")),
    Case("units_after_an_underscore", table("t_s,x_mm,y_mm,z_mm", xyz), **MM, columns=plain("_mm")),
    Case("units_in_a_second_line", table("time,hip.x,hip.y,hip.z\ns,m,m,m", xyz), units=("m",), **HIP),
    Case("unit_given", table("time,hip.x,hip.y,hip.z", xyz), options={"unit": "mm"}, **HIP, **MM),
    Case("unknown_unit_is_kept", table("time,hip.x [px],hip.y [px],hip.z [px]", xyz), units=("px",), **HIP),
    Case("upper_case_camel_case", table("Time,HeadX,HeadY,HeadZ", xyz), channels=("Head",)),
    Case("axis_in_front", table("time,x_hip,y_hip,z_hip", xyz), **HIP),
    Case(
        "numbered_channels",
        table("time,x1,y1,z1,x2,y2,z2", lambda t: (t, *position(t), *position(t, 1))),
        channels=("1", "2"),
        units=("", ""),
    ),
    Case(
        "numbered_channels_by_axis",
        table(
            "time,x1,x2,y1,y2,z1,z2",
            lambda t: (t, *(v for p in zip(position(t), position(t, 1), strict=True) for v in p)),
        ),
        channels=("1", "2"),
        units=("", ""),
        columns=("x1", "x2", "y1", "y2", "z1", "z2"),
    ),
    Case(
        "the_same_names_twice",
        table("time,x,y,z,x,y,z", lambda t: (t, *position(t), *position(t, 1))),
        channels=("channel1", "channel2"),
        units=("", ""),
    ),
    Case(
        "anatomical_axes", table("time,LR [mm],SI [mm],AP [mm]", xyz), **MM, columns=("LR [mm]", "SI [mm]", "AP [mm]")
    ),
    Case("comments_above", "# tracker 7\n# " + "-" * 20 + "\n" + table("time,hip.x,hip.y,hip.z", xyz), **HIP),
    Case(
        "lines_above_the_header",
        "Patient: anonymous\nDate: today\n\n" + table("time,hip.x,hip.y,hip.z", xyz),
        **HIP,
        notes=("2 lines above the header ignored",),
    ),
    Case(
        "settings_above_the_header",
        "Patient,A\nRate,10,,\nVersion,1.0\n,,,\n" + table("time,hip.x,hip.y,hip.z", xyz),
        **HIP,
        notes=("4 lines above the header ignored",),
    ),
    Case(
        "many_lines_above_the_header",
        "setting: on\n" * 150 + table("time,hip.x,hip.y,hip.z", xyz),
        **HIP,
        notes=("150 lines above the header ignored",),
    ),
    Case("trailing_separator", table("time,hip.x,hip.y,hip.z", lambda t: (*xyz(t), "")), **HIP),
    Case("quoted_names", table('"time","hip, left.x","hip, left.y","hip, left.z"', xyz), channels=("hip, left",)),
    Case(
        "status_words",
        table("time,status,hip.x,hip.y,hip.z", lambda t: (t, "OK", *position(t))),
        **HIP,
        notes=("ignored columns: status",),
    ),
    Case(
        "frame_time_quality",
        table("frame,timestamp_ms,quality,x,y,z", lambda t: (round(10 * t), 1000 * t, 0.9, *position(t))),
        notes=("ignored columns: frame, quality",),
    ),
    Case("timestamp_without_unit", table("timestamp,x,y,z", xyz), notes=("timestamp: no unit given, read as seconds",)),
    Case("microseconds", table("t_us,x,y,z", lambda t: (f"{1e6 * t:.0f}", *position(t)))),
    Case(
        "unix_seconds",
        table("timestamp,x,y,z", lambda t: (f"{1709164798 + t:.3f}", *position(t))),
        notes=("read as s since 1970", "2024-02-28 23:59:58 UTC"),
    ),
    Case(
        "unix_milliseconds",
        table("timestamp,x,y,z", lambda t: (f"{1709164798000 + 1000 * t:.0f}", *position(t))),
        notes=("read as ms since 1970",),
    ),
    Case(
        "iso_dates", table("time,x,y,z", lambda t: (iso(t), *position(t))), notes=("counted from 2024-02-28T23:59:58",)
    ),
    Case(
        "iso_dates_with_zone",
        table("datetime;x;y;z", lambda t: (iso(t, "%Y-%m-%d %H:%M:%S.%f+01:00"), *position(t)), ";"),
        notes=("dates or times of day",),
    ),
    Case(
        "time_of_day_over_midnight",
        table("clock,x,y,z", lambda t: (iso(t, "%H:%M:%S.%f"), *position(t))),
        notes=("counted from 23:59:58",),
    ),
    Case(
        "no_header_with_rate",
        table("", position),
        options={"rate": 10.0},
        columns=("1", "2", "3"),
        notes=("no header: columns 1 to 3",),
    ),
    Case(
        "no_header_time_given",
        table("", xyz),
        options={"time": "1"},
        columns=("2", "3", "4"),
        notes=("no header: columns 2 to 4",),
    ),
    Case(
        "frame_counter_and_rate",
        table("frame,x,y,z", lambda t: (round(10 * t) + 7, *position(t))),
        options={"rate": 10.0},
        notes=("frame: counts samples", "ignored columns: frame"),
    ),
    Case(
        "columns_given",
        table("time,a,b,c,d", lambda t: (t, 5.0, *position(t))),
        options={"columns": ["hip=b,c,d"]},
        **HIP,
    ),
    Case("missing_words", table("time,hip.x,hip.y,hip.z", xyz).replace("\n1.5,", "\n1.5,NA,NA,null\n#", 1), **HIP),
    Case(
        "rotation_in_degrees_beside",
        table("time,x [mm],y [mm],z [mm],rx [deg],ry [deg],rz [deg]", lambda t: (t, *position(t), *position(t, 1))),
        channels=("channel1",),
        units=("mm",),
        notes=("rx [deg], ry [deg], rz [deg] are angles", "not read: r;"),
    ),
    Case(
        "orientation_scalar_first",
        table("time,hand.qw,hand.qx,hand.qy,hand.qz", wxyz),
        channels=("hand.q",),
        space="orientation",
    ),
    Case(
        "orientation_scalar_last",
        table("time,q_x,q_y,q_z,q_w", xyzw),
        channels=("q",),
        space="orientation",
        columns=("q_x", "q_y", "q_z", "q_w"),
    ),
    Case("orientation_by_numbers", table("time,q0,q1,q2,q3", wxyz), channels=("q",), space="orientation"),
    Case("orientation_real_first", table("time,q.r,q.i,q.j,q.k", wxyz), channels=("q",), space="orientation"),
    Case("orientation_of_units", table("time,Q_w,Q_i,Q_j,Q_k", wxyz), channels=("Q",), space="orientation"),
    Case(
        "four_numbers_of_norm_one",
        table("time,s.w,s.x,s.y,s.z", wxyz),
        channels=("s",),
        space="orientation",
        notes=("unit quaternions w, x, y, z, read as orientations",),
    ),
    Case(
        "four_numbers_as_a_vector",
        table("time,q.w,q.x,q.y,q.z", wxyz),
        options={"space": "vector"},
        channels=("q",),
        space="vector",
    ),
    Case(
        "pose_of_a_tool",
        table("time,tool.x,tool.y,tool.z,tool.qw,tool.qx,tool.qy,tool.qz", lambda t: (*xyz(t), *quaternion(t))),
        channels=("tool",),
        space="pose",
        notes=("one pose",),
    ),
    Case(
        "sensors_beside_a_pose",
        table(
            "time,acc_x,acc_y,acc_z,q_x,q_y,q_z,q_w,p_x,p_y,p_z",
            lambda t: (t, 0.0, 0.0, 9.8, *xyzw(t)[1:], *position(t)),
        ),
        channels=("pose",),
        space="pose",
        columns=("q_x", "q_y", "q_z", "q_w", "p_x", "p_y", "p_z"),
        notes=("not read: acc", "one pose"),
    ),
    Case(
        "ros_bag",
        table(
            "%time,field.header.seq,field.pose.position.x,field.pose.position.y,field.pose.position.z,field.pose.orientation.x,"
            "field.pose.orientation.y,field.pose.orientation.z,field.pose.orientation.w",
            lambda t: (f"{1709164798000000000 + 1e9 * t:.0f}", round(10 * t), *position(t), *xyzw(t)[1:]),
        ),
        channels=("field.pose",),
        space="pose",
        notes=("read as ns since 1970", "one pose", "ignored columns: field.header.seq"),
    ),
    Case(
        "euroc",
        table(
            "#timestamp [ns], p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], q_RS_z [], "
            "v_RS_R_x [m s^-1], v_RS_R_y [m s^-1], v_RS_R_z [m s^-1]",
            lambda t: (f"{1403636580838555648 + round(1e9 * t)}", *position(t), *quaternion(t), 0.0, 0.0, 0.0),
        ),
        channels=("RS",),
        units=("m",),
        space="pose",
        notes=("since 1970", "one pose", "not read: v_RS_R"),
    ),
    Case(
        "tum_with_comment",
        table("# ground truth\n# timestamp tx ty tz qx qy qz qw", lambda t: (*xyz(t), *xyzw(t)[1:]), " "),
        "txt",
        channels=("pose",),
        space="pose",
        notes=("timestamp: no unit", "one pose"),
    ),
    Case(
        "tum_without_header",
        table("", lambda t: (*xyz(t), *xyzw(t)[1:]), " "),
        "txt",
        channels=("pose",),
        space="pose",
        notes=("no header: read as a TUM trajectory", "one pose"),
    ),
    Case(
        "tum_recognised",
        table("", lambda t: (f"{1709164798 + t:.4f}", *position(t), *xyzw(t)[1:]), " "),
        "txt",
        channels=("pose",),
        space="pose",
        notes=("no header: read as a TUM trajectory", "one pose", "since 1970"),
    ),
    Case(
        "date_and_time",
        table("date,time,x,y,z", lambda t: ("2024-02-28", iso(t, "%H:%M:%S.%f"), *position(t))),
        notes=("counted from 23:59:58", "ignored columns: date"),
    ),
    Case(
        "excel_separator_and_empty_rows",
        "sep=;\n" + table("time;hip.x;hip.y;hip.z", xyz, ";") + ";;;\n;;;\n",
        **HIP,
        notes=("1 line above the header ignored",),
    ),
    Case(
        "euroc_imu",
        table(
            "#timestamp [ns],w_RS_S_x [rad s^-1],w_RS_S_y [rad s^-1],w_RS_S_z [rad s^-1],"
            "a_RS_S_x [m s^-2],a_RS_S_y [m s^-2],a_RS_S_z [m s^-2]",
            lambda t: (f"{1403636580838555648 + round(1e9 * t)}", *position(t), *position(t, 1)),
        ),
        channels=("w_RS_S", "a_RS_S"),
        units=("rad s^-1", "m s^-2"),
        space="vector",
        notes=("since 1970",),
    ),
    Case(
        "ndi_tool",
        table("Time,Q0,Qx,Qy,Qz,Tx,Ty,Tz,Error", lambda t: (*wxyz(t), *position(t), 0.1)),
        channels=("pose",),
        space="pose",
        columns=("Q0", "Qx", "Qy", "Qz", "Tx", "Ty", "Tz"),
        notes=("one pose", "ignored columns: Error"),
    ),
    Case(
        "ndi_tools_with_prefix",
        table(
            "Time,Tool1 Tx [mm],Tool1 Ty [mm],Tool1 Tz [mm],Tool1 Q0,Tool1 Qx,Tool1 Qy,Tool1 Qz,Tool1 Error,"
            "Tool2 Tx [mm],Tool2 Ty [mm],Tool2 Tz [mm],Tool2 Q0,Tool2 Qx,Tool2 Qy,Tool2 Qz,Tool2 Error",
            lambda t: (*xyz(t), *quaternion(t), 0.1, *position(t, 1), *quaternion(t), 0.1),
        ),
        channels=("Tool1", "Tool2"),
        units=("mm", "mm"),
        space="pose",
        notes=("one pose", "ignored columns: Tool1 Error, Tool2 Error"),
    ),
    Case(
        "euler_angles_beside_a_position",
        table("time,x,y,z,roll [deg],pitch [deg],yaw [deg]", lambda t: (*xyz(t), 1.0, 2.0, 3.0)),
        notes=("Euler angles are not read: roll [deg], pitch [deg], yaw [deg]", "qw, qx, qy, qz"),
    ),
    Case(
        "euler_angles_as_numbers",
        table("time,roll,pitch,yaw", xyz),
        options={"columns": ["turn=roll,pitch,yaw"]},
        channels=("turn",),
    ),
    Case(
        "pose_of_named_columns",
        table("time,a,b,c,d,e,f,g", lambda t: (*xyz(t), *xyzw(t)[1:])),
        options={"columns": ["tool=a,b,c,g,d,e,f"]},
        channels=("tool",),
        space="pose",
        notes=("one pose",),
    ),
    Case(
        "poses_of_columns_with_names_of_axes",
        table("time,tx,ty,tz,qx,qy,qz,qw", lambda t: (*xyz(t), *xyzw(t)[1:])),
        options={"columns": ["2,3,4,5,6,7,8"], "space": "pose"},
        channels=("pose",),
        space="pose",
        notes=("one pose",),
    ),
    Case("minutes", table("time [min],x,y,z", lambda t: (f"{t / 60:.12f}", *position(t)))),
    Case("minutes_after_an_underscore", table("t_min,x,y,z", lambda t: (f"{t / 60:.12f}", *position(t)))),
    Case("minutes_as_a_name", table("Minutes,x,y,z", lambda t: (f"{t / 60:.12f}", *position(t)))),
    Case("hours", table("elapsed (h),x,y,z", lambda t: (f"{t / 3600:.14f}", *position(t)))),
    Case(
        "minutes_given",
        table("clock,x,y,z", lambda t: (f"{t / 60:.12f}", *position(t))),
        options={"time_unit": "min"},
    ),
    Case(
        "unit_of_times_given",
        table("time [ticks],x,y,z", xyz),
        options={"time": "time [ticks]", "time_unit": "s"},
    ),
    Case(
        "zone_in_hours",
        table("time,x,y,z", lambda t: (f"2024-10-27 00:59:{30 + t:04.1f}+02", *position(t))),
        notes=("counted from 2024-10-27 00:59:30.0+02",),
    ),
    Case(
        "dates_with_slashes",
        table("time,x,y,z", lambda t: (f"2024/10/27 00:59:{30 + t:04.1f}", *position(t))),
        notes=("counted from 2024/10/27 00:59:30.0",),
    ),
    Case(
        "logger_faster_than_tracker",
        "time,x,y,z\n" + "".join(3 * f"{row}\n" for row in table("", xyz).splitlines()),
        notes=("80 rows repeat the time of the row before; ignored",),
    ),
]
