/** The bodies of uploads of files, as `multipart/form-data`. */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Shape } from './shapes.ts';

const boundary = 'tablewright-bench';

export const multipart = `multipart/form-data; boundary=${boundary}`;

/** Writes the body of an upload: the definition, if there is one, and the file. */
export async function writeMultipart(
  file: string,
  path: string,
  definition?: Pick<Shape, 'columns'>,
  name = 'bench.xlsx',
): Promise<void> {
  const target = await open(path, 'w');
  const part = (head: string) => `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`;
  if (definition !== undefined) {
    const json = JSON.stringify({ table: { columns: definition.columns } });
    await target.write(`${part('name="body"')}${json}\r\n`);
  }
  await target.write(part(`name="file"; filename="${name}"`));
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) await target.write(chunk);
  await target.write(`\r\n--${boundary}--\r\n`);
  await target.close();
}
