/** Adds a definition or corrections to a JSON upload without reading the file into memory: the browser joins the parts while it sends them. */
import { toJson } from '../../client/exact-json.ts';
import { linesAsItems, withoutByteOrderMark } from '../../client/lines-as-items.ts';

const sliceBytes = 1 << 20;
const newline = 10;
const openBrace = 123;
const openBracket = 91;

/**
 * Returns the body `{"table": …, "patch": …, "data": …}` with the rows of the file.
 *
 * @param members the members before the rows. Those that are undefined are left out
 */
export async function jsonWithMembers(
  file: Blob,
  kind: 'json' | 'ndjson',
  members: Record<string, unknown>,
): Promise<Blob> {
  const known = Object.entries(members).filter(([, value]) => value !== undefined);
  const head = `{${known.map(([name, value]) => `"${name}":${toJson(value)},`).join('')}`;
  if (kind === 'ndjson') return new Blob([`${head}"data":[`, ...(await asItems(file)), ']}']);
  const { at, sign } = await firstSign(file);
  // The rows of an object may be in any member. The parameter `rows_at` says where.
  if (sign === openBrace) return new Blob([head, file.slice(at + 1)]);
  return new Blob([`${head}"data":`, file.slice(sign === openBracket ? at : 0), '}']);
}

async function firstSign(file: Blob): Promise<{ at: number; sign: number }> {
  const bytes = new Uint8Array(await file.slice(0, sliceBytes).arrayBuffer());
  let at = bytes.length - withoutByteOrderMark(bytes).length;
  while (at < bytes.length && isSpace(bytes[at]!)) at++;
  return { at, sign: bytes[at] ?? 0 };
}

async function asItems(file: Blob): Promise<Blob[]> {
  const toItems = linesAsItems();
  const parts: Blob[] = [];
  for (let from = 0; from < file.size; from += sliceBytes) {
    const bytes = new Uint8Array(await file.slice(from, from + sliceBytes).arrayBuffer());
    parts.push(new Blob([toItems(bytes)]));
  }
  return parts;
}

function isSpace(byte: number): boolean {
  return byte === 32 || byte === newline || byte === 13 || byte === 9;
}
