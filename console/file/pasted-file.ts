/** Makes a file of what the user pastes: a copied file, cells that were copied in a spreadsheet program, or the text of a CSV or JSON file. */

/** What this file needs of a `DataTransfer`. */
interface Clipboard {
  getData(type: 'text/plain'): string;
  files: ArrayLike<File>;
}

/** @returns undefined: there is neither a file nor a text */
export function pastedFile(clipboard: Clipboard): File | undefined {
  // A spreadsheet program also copies a picture of the cells, so the text comes first.
  const text = clipboard.getData('text/plain');
  if (text.trim() === '') return clipboard.files[0];
  return new File([text], nameOf(text.trimStart()));
}

/** Returns a name that says what the text is. Cells have tabs between them. */
function nameOf(text: string): string {
  const [first = '', second] = text.split(/\r?\n/, 2);
  if (/^[[{]/.test(text)) return second?.startsWith('{') && isJson(first) ? 'pasted.ndjson' : 'pasted.json';
  return first.includes('\t') ? 'pasted.tsv' : 'pasted.csv';
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
