/** Reads the log of a service. */

export interface LogLine {
  reqId?: string;
  msg: string;
  [name: string]: unknown;
}

/** Returns the lines of JSON in the output of a service. Its banner, and a line that is still being written, are left out. */
export function logLines(output: string): LogLine[] {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as LogLine);
}
