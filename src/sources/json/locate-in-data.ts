import type { CellLocation } from '../cell-sink.ts';

/** The place of a cell in `{"data": […]}` as a JSON Pointer (RFC 6901); `row` counts from 1, `column` -1 is the row. */
export function locateInData(row: number, column: number, name: string): CellLocation {
  const pointer = `/data/${row - 1}`;
  return { pointer: column < 0 ? pointer : pointer + pointerTo(name) };
}

/** `/name`, escaped. */
export function pointerTo(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
