"""Standard input and recordings as sources: how they end, and where they continue."""

import asyncio
import io

import pytest

from quatcast.live.frames import Frame
from quatcast.live.transports import Source, open_source
from quatcast.live.transports.standard import StdinSource


def play(source: Source) -> list[Frame]:
    async def main() -> list[Frame]:
        async with source, asyncio.timeout(5):
            return [frame async for frame in source.frames()]

    return asyncio.run(main())


@pytest.mark.parametrize("dimensions", ["0", "17", "20"])
def test_standard_input_refuses_impossible_dimensions(dimensions: str) -> None:
    with pytest.raises(ValueError, match=rf"stdin, dimensions: expected a number from 1 to 16, got {dimensions}"):
        open_source(f"stdin:?dimensions={dimensions}", "chest")


def test_standard_input_that_cannot_be_read_ends_the_stream_with_its_error() -> None:
    class Broken(io.BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            if self.tell() > 10:
                raise OSError(5, "input/output error")
            return super().readline(size)

    assert len(play(StdinSource("chest", file=io.BytesIO(b"1,2,3\n" * 4)))) == 4
    with pytest.raises(OSError, match="input/output error"):
        play(StdinSource("chest", file=Broken(b"1,2,3\n" * 4)))
