/** Runs the process that reads an .xls workbook. It gets the password and the whole file, and then the indices of the sheets. */

import { Readable } from 'node:stream';
import { AppError } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { encrypted, notAWorkbook, notOpened, tooManyMergedAreas } from '../file-errors.ts';
import {
  pathsToRead,
  type ReaderBounds,
  type ReaderProgram,
  ReaderRun,
} from '../reader-process/reader-run.ts';
import { tooManySheets } from '../sheet-names.ts';
import { codePageFault, maxCells, namesRequest, type ReaderFault } from './cell-blocks.ts';

/** A file that the process reads once, from the beginning. */
export interface ReaderInput {
  /** The password that the caller has sent. */
  password: string | undefined;
  size: number;
  chunks: () => AsyncIterable<Buffer>;
}

const remedy = 'Save it as .xlsx, which is read as a stream.';

const program: Omit<ReaderProgram, 'errorOf'> = {
  module: 'readers/spreadsheet/legacy/reader-process',
  readable: pathsToRead('@e965/xlsx'),
  what: 'workbook',
  remedy,
  asksForRanges: false,
};

/** A run of the process. The process also ends when the service ends, because its input then ends. */
export class LegacyRun extends ReaderRun {
  constructor(file: ReaderInput, maxFrameBytes: number, bounds: ReaderBounds, signal: AbortSignal) {
    const errorOf = (fault: string, cause: Error): AppError =>
      errorOfFault(fault as ReaderFault, cause, file.password);
    super({ ...program, errorOf }, [String(file.size)], maxFrameBytes, bounds, signal);
    const password = Buffer.from(file.password ?? '');
    const length = Buffer.alloc(4);
    length.writeUInt32LE(password.length);
    this.input.write(Buffer.concat([length, password]));
    // The input stays open after the file, because the indices of the sheets follow.
    Readable.from(file.chunks())
      .on('error', (error) => this.fail(error))
      .pipe(this.input, { end: false });
  }

  /** Asks the process for the names of the workbook. */
  askForNames(): void {
    this.chooseSheet(namesRequest);
  }

  /** Sends the index of the sheet that the process must read. */
  chooseSheet(index: number): void {
    const answer = Buffer.alloc(4);
    answer.writeUInt32LE(index);
    this.input.write(answer);
  }
}

function errorOfFault(fault: ReaderFault, cause: Error, password: string | undefined): AppError {
  if (fault.startsWith(codePageFault)) return unknownCodePage(fault.slice(codePageFault.length));
  switch (fault) {
    case 'unknown-method':
      return encrypted();
    case 'wrong-password':
      return notOpened(password);
    case 'word-document':
      return notAWorkbook('a Word document');
    case 'presentation':
      return notAWorkbook('a PowerPoint presentation');
    case 'no-workbook':
      return notAWorkbook('an Office file of another kind');
    case 'too-many-cells':
      return limitExceeded('The workbook has too many cells', maxCells, 'cells', remedy);
    case 'too-many-sheets':
      return tooManySheets();
    case 'too-many-merged-areas':
      return tooManyMergedAreas();
    default:
      return new AppError(
        'invalid-file',
        'The workbook is broken or has parts that cannot be read. Open it in a spreadsheet program and save it as .xlsx.',
        { cause },
      );
  }
}

function unknownCodePage(codePage: string): AppError {
  return new AppError(
    'invalid-file',
    `The texts of the workbook use the code page ${codePage}, which is not supported. Open it in a spreadsheet program and save it as .xlsx.`,
  );
}
