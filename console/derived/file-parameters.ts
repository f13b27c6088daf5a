/** Upload parameters that the page sends as the user writes or chooses them. */
import { uploadParameters } from '../../client/parameters.ts';
import type { ChosenFile, Reading } from '../state.ts';

/** The labels of the parameters, in the order of their fields. */
const labels = {
  encoding: 'Encoding of a text file',
  delimiter: 'Sign between the fields of a text file',
  quote: 'Quotation mark of a text file',
  quotes: 'Wrong quotation marks',
  escape: 'Sign before a quotation mark that is text',
  quoted: 'Values in quotation marks',
  comment: 'Sign at the beginning of comments',
  fill_down: 'Columns whose empty cells take the value above',
  column_names: 'Names of columns',
  empty_cells: 'Empty cells',
  file_in_zip: 'File in a zip file',
  all_text: 'All columns are text',
  flatten: 'Make columns of nested objects',
  flatten_separator: 'Sign between the names of nested objects',
} as const;

export type FileParameter = keyof typeof labels;

interface ParameterField {
  name: FileParameter;
  label: string;
  hint: string;
  /** undefined: the user writes the value. */
  choices: readonly string[] | undefined;
}

/** Returns the fields for a kind of file. */
export function fileParameters(kind: ChosenFile['kind']): ParameterField[] {
  const endpoint = kind === 'spreadsheet' ? 'upload-excel' : 'upload-json';
  return (Object.keys(labels) as FileParameter[]).flatMap((name) => {
    const { endpoints, about, value, choices } = uploadParameters.find((one) => one.name === name)!;
    // A parameter without a name for its value is true or false.
    const field = { name, label: labels[name], hint: about, choices: value ? choices : ['true'] };
    return (endpoints as readonly string[]).includes(endpoint) ? [field] : [];
  });
}

export function isFileParameter(name: string): name is FileParameter {
  return Object.hasOwn(labels, name);
}

/** Returns the part of the query that these parameters are. */
export function fileParameterQuery({ more }: Reading, kind: ChosenFile['kind']): Record<string, string> {
  const set = fileParameters(kind).flatMap(({ name }) => (more[name] ? [[name, more[name]] as const] : []));
  return Object.fromEntries(set);
}
