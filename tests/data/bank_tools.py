"""Exports of motion capture and navigation software, written by hand in the form that the tools use."""

from __future__ import annotations

import math
import struct

from bank import Case, Unclear, matrix, position, quaternion, times


def motive(rotation: bool = True, markers: bool = False, units: str = "Meters") -> str:
    """Return an export of Motive 2 with one rigid body, and markers on request."""
    head = [
        "Format Version",
        "1.23",
        "Take Name",
        "Take 1",
        "Capture Frame Rate",
        "10.000000",
        "Export Frame Rate",
        "10.000000",
        "Rotation Type",
        "Quaternion" if rotation else "XYZ",
        "Length Units",
        units,
        "Coordinate Space",
        "Global",
    ]
    turn = ["X", "Y", "Z", "W"] if rotation else ["X", "Y", "Z"]
    columns = [("Rigid Body", "Probe", '"A1"', "Rotation", axis) for axis in turn]
    columns += [("Rigid Body", "Probe", '"A1"', "Position", axis) for axis in "XYZ"]
    columns += [("Rigid Body", "Probe", '"A1"', "Mean Marker Error", "")]
    if markers:
        columns += [("Rigid Body Marker", "Probe:Marker1", '"B1"', "Position", axis) for axis in "XYZ"]
    lines = [",".join(head), ""]
    lines += [f",{key}," + ",".join(column[i] for column in columns) for i, key in enumerate(("Type", "Name", "ID"))]
    lines += [
        ",," + ",".join(column[3] for column in columns),
        "Frame,Time (Seconds)," + ",".join(c[4] for c in columns),
    ]
    for k, t in enumerate(times()):
        w, x, y, z = quaternion(t)
        cells = [x, y, z, w] if rotation else [0.0, 0.0, 57.3 * t]
        cells += [*position(t), 0.001, *(position(t, 1) if markers else ())]
        lines.append(f"{k},{t:.6f}," + ",".join(f"{cell:.12g}" for cell in cells))
    return "\r\n".join(lines) + "\r\n"


def vicon(devices: bool = False, separator: str = ",") -> str:
    """Return an export of Nexus with two markers, below the analog devices on request."""
    lines = []
    if devices:
        lines += ["Devices", "1000", ",,Force", "Frame,Sub Frame,Fx,Fy,Fz", ",,N,N,N", "1,0,1,2,3", "1,1,1,2,3", ""]
    lines += ["Trajectories", "10", ",,S1:LASI,,,S1:RASI,,", "Frame,Sub Frame,X,Y,Z,X,Y,Z", ",,mm,mm,mm,mm,mm,mm"]
    for k, t in enumerate(times()):
        lines.append(f"{k + 1},0," + ",".join(f"{value:.12g}" for value in (*position(t), *position(t, 1))))
    return "\n".join(lines).replace(",", separator) + "\n\n"


def trc() -> str:
    """Return a TRC file with two markers."""
    lines = ["PathFileType\t4\t(X/Y/Z)\twalk.trc", "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate"]
    lines += ["10\t10\t40\t2\tmm\t10", "Frame#\tTime\tS1:LASI\t\t\tS1:RASI\t\t", "\t\tX1\tY1\tZ1\tX2\tY2\tZ2", ""]
    for k, t in enumerate(times()):
        lines.append("\t".join(f"{value:.12g}" for value in (k + 1, t, *position(t), *position(t, 1))) + "\t")
    return "\r\n".join(lines) + "\r\n"


def qualisys(header: bool, bodies: bool = False, lost: tuple[int, ...] = (), by_rows: bool = False) -> str:
    """Return an export of QTM with two markers, or with a rigid body."""
    lines = [
        "NO_OF_FRAMES\t40",
        "NO_OF_CAMERAS\t8",
        "FREQUENCY\t10",
        "DESCRIPTION\t--",
        "TIME_STAMP\t2024-02-28, 23:59:58\t12.3",
    ]
    if bodies:
        lines += ["NO_OF_BODIES\t1", "DATA_INCLUDED\t6D", "BODY_NAMES\tprobe"]
        columns = [f"probe {word}" for word in ("X", "Y", "Z", "Roll", "Pitch", "Yaw", "Residual")] + [
            f"Rot[{i}]" for i in range(9)
        ]
    else:
        lines += ["NO_OF_MARKERS\t2", "DATA_INCLUDED\t3D", "MARKER_NAMES\tL hip\tR hip"]
        columns = [f"{name} {axis}" for name in ("L hip", "R hip") for axis in "XYZ"]
    if header:
        lines.append("\t".join(["Frame", "Time", *columns]))
    for k, t in enumerate(times()):
        m = matrix(t)
        turned = [m[i][j] if by_rows else m[j][i] for i in range(3) for j in range(3)]
        cells = [*position(t), 0.0, 0.0, math.degrees(t), 0.1, *turned] if bodies else [*position(t), *position(t, 1)]
        cells = [0.0] * 3 + cells[3:] if k in lost else cells
        lines.append("\t".join([*([str(k + 1), f"{t:.5f}"] if header else []), *(f"{cell:.12g}" for cell in cells)]))
    return "\r\n".join(lines) + "\r\n"


def sequence(nrrd: bool = False, invalid: tuple[int, ...] = ()) -> bytes:
    """Return a sequence of PLUS: tracker transforms of each frame in the header of an image."""
    first = (
        ["NRRD0004", "type: uint8", "dimension: 3"] if nrrd else ["ObjectType = Image", "NDims = 3", "DimSize = 1 1 40"]
    )
    equals = ":=" if nrrd else " = "
    lines = list(first)
    for k, t in enumerate(times()):
        m, p = matrix(t), position(t)
        numbers = [value for i in range(3) for value in (*m[i], p[i])] + [0, 0, 0, 1]
        text = " ".join(f"{value:.12g}" for value in numbers)
        lines.append(f"Seq_Frame{k:04d}_ProbeToTrackerTransform{equals}{text}")
        lines.append(f"Seq_Frame{k:04d}_ProbeToTrackerTransformStatus{equals}{'INVALID' if k in invalid else 'OK'}")
        lines.append(f"Seq_Frame{k:04d}_Timestamp{equals}{t + 100:.6f}")
    lines.append("" if nrrd else "ElementDataFile = LOCAL")
    return "\n".join(lines).encode() + b"\n" + bytes(range(256))


def xdf(unit: str = "meters") -> bytes:
    """Return an XDF file with one motion capture stream: chunks of length, tag and content."""
    axes = [(f"Position{axis}", unit) for axis in "XYZ"]
    axes += [(f"Orientation{axis}", "quaternion") for axis in "XYZW"]
    channels = "".join(
        f"<channel><label>Hand_{kind[-1]}</label><marker>Hand</marker><type>{kind}</type><unit>{unit}</unit></channel>"
        for kind, unit in axes
    )
    info = (
        "<?xml version='1.0'?><info><name>tracker</name><type>MoCap</type><channel_count>7</channel_count>"
        "<nominal_srate>10</nominal_srate><channel_format>double64</channel_format><source_id>s</source_id>"
        f"<desc><channels>{channels}</channels></desc></info>"
    )

    def chunk(tag: int, content: bytes) -> bytes:
        return struct.pack("<BI", 4, len(content) + 2) + struct.pack("<H", tag) + content

    stream = struct.pack("<I", 1)
    samples = stream + struct.pack("<BI", 4, len(times()))
    for t in times():
        w, x, y, z = quaternion(t)
        samples += struct.pack("<Bd", 8, 1000.0 + t) + struct.pack("<7d", *position(t), x, y, z, w)
    footer = b"<?xml version='1.0'?><info><first_timestamp>1000</first_timestamp></info>"
    parts = [
        (1, b"<?xml version='1.0'?><info><version>1.0</version></info>"),
        (2, stream + info.encode()),
        (3, samples),
    ]
    return b"XDF:" + b"".join(chunk(tag, content) for tag, content in [*parts, (6, stream + footer)])


POSE = {"space": "pose", "channels": ("Probe",)}
MARKERS = {"channels": ("S1:LASI", "S1:RASI"), "units": ("mm", "mm")}
HIPS = {"channels": ("L hip", "R hip"), "units": ("mm", "mm")}

TOOLS = [
    Case("motive_rigid_body", motive(), **POSE, units=("m",), notes=("ignored columns: Mean Marker Error", "one pose")),
    Case(
        "motive_millimetres",
        motive(units="Millimeters"),
        **POSE,
        units=("mm",),
        notes=("one pose", "Mean Marker Error"),
    ),
    Case(
        "motive_with_markers",
        motive(markers=True),
        **POSE,
        units=("m",),
        notes=("not read: Probe:Marker1", "one pose", "Mean Marker Error"),
    ),
    Case(
        "motive_euler_angles",
        motive(rotation=False),
        channels=("Probe",),
        units=("m",),
        notes=("ignored rotations in XYZ angles", "Mean Marker Error"),
    ),
    Case("vicon_trajectories", vicon(), **MARKERS, notes=("frames at 10 Hz",)),
    Case("vicon_below_devices", vicon(devices=True), **MARKERS, notes=("ignored section: Devices", "frames at 10 Hz")),
    Case("vicon_tabs", vicon(separator="\t"), **MARKERS, notes=("frames at 10 Hz",)),
    Case("trc", trc(), "trc", **MARKERS),
    Case("qualisys_with_columns", qualisys(header=True), "tsv", **HIPS, notes=("millimetres",)),
    Case("qualisys_without_columns", qualisys(header=False), "tsv", **HIPS, notes=("millimetres",)),
    Case(
        "qualisys_rigid_body",
        qualisys(header=True, bodies=True),
        "tsv",
        channels=("probe",),
        units=("mm",),
        space="pose",
        notes=("millimetres", "rotation matrices"),
    ),
    Case(
        "qualisys_rigid_body_by_rows",
        "FILE_VERSION\t2.0.0\r\n" + qualisys(header=True, bodies=True, by_rows=True),
        "tsv",
        channels=("probe",),
        units=("mm",),
        space="pose",
        notes=("millimetres", "rotation matrices"),
    ),
    Case(
        "plus_sequence",
        sequence(),
        "mha",
        space="pose",
        channels=("ProbeToTracker",),
        units=("mm",),
        notes=("millimetres",),
    ),
    Case(
        "plus_nrrd",
        sequence(nrrd=True),
        "nrrd",
        space="pose",
        channels=("ProbeToTracker",),
        units=("mm",),
        notes=("millimetres",),
    ),
    Case(
        "xdf_of_lsl",
        xdf(),
        "xdf",
        space="pose",
        channels=("Hand",),
        units=("m",),
        needs="pyxdf",
        notes=("stream 'tracker'", "one pose"),
    ),
    Case(
        "xdf_in_centimetres",
        xdf("Centimetres"),
        "xdf",
        space="pose",
        channels=("Hand",),
        units=("cm",),
        needs="pyxdf",
        notes=("stream 'tracker'", "one pose"),
    ),
]

UNREADABLE = [
    Unclear(
        "plus_without_transforms",
        b"ObjectType = Image\nNDims = 2\nElementDataFile = LOCAL\n\x00\x01",
        ("expected transforms",),
        "mha",
    ),
    Unclear(
        "vicon_without_markers",
        "Devices\n1000\n,,Force\nFrame,Sub Frame,Fx\n,,N\n1,0,1\n",
        ("expected the section Trajectories",),
    ),
    Unclear(
        "vicon_without_a_rate",
        vicon(devices=True).replace("Trajectories\n10\n", "Trajectories\n0\n"),
        ("expected the sampling rate below Trajectories, got '0'",),
    ),
    Unclear(
        "trc_without_a_rate", trc().replace("\n10\t", "\n\t"), ("expected the sampling rate below DataRate",), "trc"
    ),
    Unclear("trc_without_rows", trc()[:150], ("trc: expected ",), "trc"),
    Unclear(
        "qualisys_without_a_rate",
        qualisys(header=True).replace("FREQUENCY\t10", "FREQUENCY"),
        ("expected the sampling rate after FREQUENCY, got ''",),
        "tsv",
    ),
    Unclear(
        "qualisys_without_rows",
        "NO_OF_FRAMES\t40\nFREQUENCY\t10\nMARKER_NAMES\ta\n",
        ("expected at least one row",),
        "tsv",
    ),
    Unclear("motive_cut_off", "Format Version,1.23,Take Name,x\n", ("expected the header of Motive",)),
    Unclear(
        "motive_without_times",
        "Format Version,1.23\n,Type,Marker\n,Name,A\n,,Position\nFrame\n0\n",
        ("expected the header of Motive",),
    ),
    Unclear(
        "motive_without_positions",
        "Format Version,1.23\n,Type,Marker\n,Name,A\n,,Error\nFrame,Time,X\n0,0.0,1\n1,0.1,1\n",
        ("expected channels with coordinates, got none; ignored columns: Error",),
    ),
    Unclear(
        "qualisys_without_markers",
        "NO_OF_FRAMES\t2\nFREQUENCY\t10\nMARKER_NAMES\t\n1\t0.0\n2\t0.1\n",
        ("expected channels with coordinates, got none",),
        "tsv",
    ),
    Unclear("xdf_cut_off", xdf()[:30], ("XDF",), "xdf"),
    Unclear(
        "c3d_that_lies",
        b"\x02\x50" + struct.pack("<HHHH", 500, 0, 1, 60000) + bytes(600),
        ("got a file of 610 bytes",),
        "c3d",
    ),
    Unclear("an_image", b"\x89PNG\r\n\x1a\n" + bytes(100), ("line 1",), "csv"),
]
