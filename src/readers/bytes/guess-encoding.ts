/**
 * Guesses the encoding of a text that is not UTF-8.
 *
 * In a text with a Latin alphabet most letters are ASCII, and the others are alone between them. Such a text is read as Windows-1252, because
 * its few letters do not show which of the Latin encodings it has. In all other texts most of the bytes above 7F come in runs, so
 * Windows-1252 would be wrong. Their encoding is guessed from the frequencies of letters, with thresholds that were measured (docs/decisions/0063-guessed-encodings.md).
 */

import { TextDecoder } from '@exodus/bytes/encoding.js';
import { analyse } from 'chardet';
import { COMMA, CR, LF, SEMICOLON, TAB } from '../../core/bytes/ascii.ts';

/** More bytes would make the guess no better. It takes about 10 ms. */
const maxSampleBytes = 8 * 1024;
/** Fewer bytes above 7F do not show which encoding of one byte for each letter a text has. */
const minHighBytes = 40;

/** The encodings without a Latin alphabet that are found. Excel writes the Windows encodings, which have the letters of the ISO ones. */
const encodings: Record<string, string> = {
  'windows-1251': 'windows-1251',
  'windows-1253': 'windows-1253',
  'windows-1255': 'windows-1255',
  'windows-1256': 'windows-1256',
  'ISO-8859-5': 'iso-8859-5',
  'ISO-8859-7': 'windows-1253',
  'ISO-8859-8': 'windows-1255',
  'KOI8-R': 'koi8-u',
  Shift_JIS: 'shift_jis',
  'EUC-JP': 'euc-jp',
  'EUC-KR': 'euc-kr',
  GB18030: 'gb18030',
  Big5: 'big5',
};
const ofSeveralBytes = new Set(['shift_jis', 'euc-jp', 'euc-kr', 'gb18030', 'big5']);

export interface EncodingGuess {
  /** undefined: no candidate is sure. */
  encoding: string | undefined;
  candidates: string[];
}

/** @param bytes a part of the text that begins and ends within ASCII characters @returns undefined: the text has a Latin alphabet */
export function guessEncoding(bytes: Buffer): EncodingGuess | undefined {
  const sample = fieldsWithHighBytes(bytes);
  const { highBytes, inRuns } = countHighBytes(sample);
  if (2 * inRuns < highBytes) return undefined;
  const found = analyse(sample).filter(({ name }) => !/^(?:UTF|ASCII|ISO-2022)/.test(name));
  const candidates = [...new Set(found.flatMap(({ name }) => encodings[name] ?? []))]
    .filter((encoding) => isText(sample, encoding))
    .slice(0, 3);
  const [first, second] = found;
  const encoding = first && encodings[first.name];
  if (encoding === undefined || encoding !== candidates[0]) return { encoding: undefined, candidates };
  const least = second?.confidence ?? 0;
  const isSure = ofSeveralBytes.has(encoding)
    ? first!.confidence >= 70 && first!.confidence >= least + 10
    : highBytes >= minHighBytes && first!.confidence >= 12 && first!.confidence >= 2 * least;
  return { encoding: isSure ? encoding : undefined, candidates };
}

/** Returns the fields with bytes above 7F, each in a line. The other fields show nothing. */
function fieldsWithHighBytes(bytes: Buffer): Buffer {
  const fields: Buffer[] = [];
  let length = 0;
  let start = 0;
  let isHigh = false;
  for (let at = 0; at < bytes.length && length < maxSampleBytes; at++) {
    const byte = bytes[at]!;
    if (byte >= 0x80) isHigh = true;
    if (byte !== LF && byte !== CR && byte !== COMMA && byte !== SEMICOLON && byte !== TAB) continue;
    if (isHigh) {
      fields.push(bytes.subarray(start, at), Buffer.of(LF));
      length += at - start;
    }
    start = at + 1;
    isHigh = false;
  }
  return Buffer.concat(fields).subarray(0, 2 * maxSampleBytes);
}

/** Counts the bytes above 7F, and those in runs of at least three that are not all the same, such as a line of dashes. */
function countHighBytes(sample: Buffer): { highBytes: number; inRuns: number } {
  let highBytes = 0;
  let inRuns = 0;
  let run = 0;
  let areDifferent = false;
  for (let at = 0; at <= sample.length; at++) {
    const byte = sample[at] ?? 0;
    if (byte >= 0x80) {
      if (run > 0 && byte !== sample[at - 1]) areDifferent = true;
      run++;
      continue;
    }
    highBytes += run;
    if (run >= 3 && areDifferent) inRuns += run;
    run = 0;
    areDifferent = false;
  }
  return { highBytes, inRuns };
}

/** Returns whether the encoding has a character for all bytes, and no control characters, private ones or lines of boxes. */
function isText(sample: Buffer, encoding: string): boolean {
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(sample);
    return !/[\u0080-\u009f\u2500-\u259f\ue000-\uf8ff\ufffd]/.test(text);
  } catch {
    return false;
  }
}
