/**
 * Wraps an input so that its text is read as the request says.
 */
import type { CellSink } from '../../sources/cell-sink.ts';
import type { SourceWarning } from '../../sources/row-source.ts';
import type { LoadInput } from '../load-input.ts';
import { shortenValue } from '../problems.ts';
import { type TextReading, TextReadingSink } from './text-reading.ts';

/** @param reading undefined: the request says nothing about text, and the input is returned unchanged */
export function readText(input: LoadInput, reading: TextReading | undefined): LoadInput {
  if (reading === undefined) return input;
  let ownWarnings: SourceWarning[] = [];
  const through = async (sink: CellSink, read: (sink: CellSink) => Promise<void>): Promise<void> => {
    const textSink = new TextReadingSink(sink, reading);
    await read(textSink);
    ownWarnings = shortYearWarnings(textSink, input);
  };
  return {
    nameMatching: input.nameMatching,
    locate: input.locate,
    get warnings() {
      return [...input.warnings, ...ownWarnings];
    },
    get headerFaults() {
      return input.headerFaults ?? [];
    },
    get reading() {
      return input.reading ?? { format: 'json' };
    },
    get definition() {
      return input.definition;
    },
    open: () => input.open(),
    read: (sink, signal) => through(sink, (textSink) => input.read(textSink, signal)),
    readAndKeep: (sink, signal) => through(sink, (textSink) => input.readAndKeep(textSink, signal)),
    keep: (signal) => input.keep(signal),
    close: () => input.close(),
  };
}

/** Warns of years of two digits, because PostgreSQL's rule may give the wrong century. Example: dates of birth. */
export function shortYearWarnings(
  sink: TextReadingSink,
  { locate }: Pick<LoadInput, 'locate'>,
): SourceWarning[] {
  return sink.shortYears().map(({ column, name, row, text, readAs }) => {
    const place = locate(row, column, name).cell ?? `row ${row}`;
    return {
      code: 'two-digit-year',
      column: name,
      detail: `Column "${shortenValue(name)}" has years of two digits: 70 to 99 were read as 1970 to 1999, 00 to 69 as 2000 to 2069. The first is ${JSON.stringify(text)} in ${place}, read as ${readAs}.`,
    };
  });
}
