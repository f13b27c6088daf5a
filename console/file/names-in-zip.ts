/** Lists the files in a zip file, from its central directory (APPNOTE.TXT 4.3). Only the end of the file is read. */

/** The end record has 22 bytes and a comment of at most 65,535 bytes. */
const maxEndBytes = 22 + 65_535;
/** A longer directory is not read. It has some 10,000 files. */
const maxDirectoryBytes = 1_000_000;
const tableName =
  /\.(xlsx|xlsm|xls|xlsb|ods|parquet|csv|tsv|txt|json|geojson|ndjson|jsonl)(\.(gz|zst|br))?$/i;

/** Returns the names of the files that can be tables. Empty: the file has another form, or the service says what is wrong with it. */
export async function namesInZip(file: File): Promise<string[]> {
  if (!/\.zip$/i.test(file.name)) return [];
  try {
    const from = Math.max(0, file.size - maxEndBytes);
    const tail = await bytesOf(file, from, file.size);
    const end = lastEnd(tail);
    if (end < 0) return [];
    const length = tail.getUint32(end + 12, true);
    const start = tail.getUint32(end + 16, true);
    if (length > maxDirectoryBytes) return [];
    return namesOf(await bytesOf(file, start, start + length)).filter(
      (name) => tableName.test(name) && !isOfSystem(name),
    );
  } catch {
    // The file cannot be read, or a length in it is wrong. The service says which.
    return [];
  }
}

async function bytesOf(file: File, from: number, to: number): Promise<DataView> {
  return new DataView(await file.slice(from, to).arrayBuffer());
}

function lastEnd(tail: DataView): number {
  for (let at = tail.byteLength - 22; at >= 0; at--) if (tail.getUint32(at, true) === 0x06054b50) return at;
  return -1;
}

function namesOf(directory: DataView): string[] {
  const names: string[] = [];
  for (let at = 0; at + 46 <= directory.byteLength && directory.getUint32(at, true) === 0x02014b50; ) {
    const length = directory.getUint16(at + 28, true);
    const extra = at + 46 + length;
    const end = extra + directory.getUint16(at + 30, true);
    const bytes = new Uint8Array(directory.buffer, at + 46, length);
    const isUtf8 = (directory.getUint16(at + 8, true) & 0x800) !== 0;
    const name = unicodeName(directory, extra, end) ?? (isUtf8 ? utf8.decode(bytes) : textOf(bytes));
    names.push(name.replaceAll('\\', '/').replace(/^\/+/, ''));
    at = end + directory.getUint16(at + 32, true);
  }
  return names;
}

const utf8 = new TextDecoder();
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/** The characters 128 to 255 of code page 437 (APPNOTE.TXT, appendix D). */
const cp437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0';

/** Returns a name without the flag for UTF-8, as the service reads it: some programs write UTF-8 without the flag. */
function textOf(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return Array.from(bytes, (byte) => (byte < 128 ? String.fromCharCode(byte) : cp437[byte - 128])).join('');
  }
}

/** Returns the name in the Info-ZIP Unicode Path Extra Field (4.6.9); undefined: there is none. */
function unicodeName(directory: DataView, from: number, end: number): string | undefined {
  for (let at = from; at + 4 <= end; at += 4 + directory.getUint16(at + 2, true)) {
    const length = directory.getUint16(at + 2, true);
    if (directory.getUint16(at, true) === 0x7075 && length > 5 && directory.getUint8(at + 4) === 1)
      return utf8.decode(new Uint8Array(directory.buffer, at + 9, length - 5));
  }
  return undefined;
}

function isOfSystem(name: string): boolean {
  return /^__MACOSX\/|(^|\/)\.[^/]*$/i.test(name);
}
