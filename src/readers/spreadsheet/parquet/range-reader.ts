/**
 * Reads parts of the file in the process that decodes it. The process has no access to files: it asks the service for each part over one
 * pipe and gets the bytes from its input. It waits for them without an event loop, because it has nothing else to do.
 */

import { readSync, writeSync } from 'node:fs';
import { requestBytes } from './cell-records.ts';
import { broken } from './fault.ts';

const inputPipe = 0;
const outputPipe = 1;
const requestPipe = 3;

/** @throws Fault if the file does not have this part */
export function readFilePart(fileSize: number, position: number, length: number): Buffer {
  if (!(position >= 0 && length >= 0 && position + length <= fileSize))
    throw broken('a part beyond the file');
  const request = Buffer.alloc(requestBytes);
  request.writeDoubleLE(position);
  request.writeUInt32LE(length, 8);
  writeAll(requestPipe, request);
  // A buffer of its own, so that no decoder can reach the bytes of another one.
  const part = Buffer.allocUnsafeSlow(length);
  for (let filled = 0; filled < length; ) {
    const count = readSync(inputPipe, part, filled, length - filled, null);
    // The service has ended.
    if (count === 0) process.exit(1);
    filled += count;
  }
  return part;
}

/** Writes bytes to the output. Waits until the service reads on, so that no more is written than it wants. */
export function writeOutput(bytes: Uint8Array): void {
  writeAll(outputPipe, bytes);
}

function writeAll(pipe: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(pipe, bytes, at, bytes.length - at);
}
