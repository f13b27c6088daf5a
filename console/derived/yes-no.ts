/** Columns of words for yes and no in another language than English, which stay text until the user asks for that language. */

import type { Inspection } from '../inspection.ts';
import type { Reading } from '../state.ts';
import { splitItems } from './words.ts';

/** The service reads these words with `languages`. Languages with the same words are read in the same way. */
const words: [language: string, yes: string[], no: string[]][] = [
  ['de', ['ja'], ['nein']],
  ['fr', ['oui'], ['non']],
  ['es', ['sí', 'si'], ['no']],
  ['it', ['sì'], ['no']],
  ['pt', ['sim'], ['não', 'nao']],
  ['nl', ['ja'], ['nee']],
  ['pl', ['tak'], ['nie']],
  ['sv', ['ja'], ['nej']],
  ['nb', ['ja'], ['nei']],
  ['fi', ['kyllä'], ['ei']],
  ['cs', ['ano'], ['ne']],
];

export interface YesNoHint {
  headers: string[];
  /** The words as the file writes them. One that it lacks is in lower case. */
  yes: string;
  no: string;
  /** The change with which they become true and false. */
  change: Partial<Reading>;
}

/**
 * Returns the first language of which text columns have only the words for yes and no, in the rows that are shown.
 *
 * @param areBothNeeded false: one of the two words is enough, because the columns are known to be true or false
 */
export function yesNoHint(
  { isNatural, languages }: Reading,
  { header, types, rows }: Pick<Inspection, 'header' | 'types' | 'rows'>,
  areBothNeeded = true,
): YesNoHint | undefined {
  const known = isNatural ? splitItems(languages, ',') : [];
  const texts = [...header.keys()].filter((index) => types[index] === 'text');
  for (const [language, yes, no] of words) {
    if (known.includes(language)) continue;
    const isOf = (value: string | null | undefined, some: string[]) =>
      some.includes(value?.toLowerCase() ?? '');
    const written = (index: number, some: string[]) => rows.find((row) => isOf(row[index], some))?.[index];
    const fitting = texts.filter(
      (index) =>
        rows.every(({ [index]: value }) => !value || isOf(value, yes) || isOf(value, no)) &&
        (areBothNeeded
          ? written(index, yes) && written(index, no)
          : (written(index, yes) ?? written(index, no))),
    );
    const [first] = fitting;
    if (first === undefined) continue;
    return {
      headers: fitting.map((index) => header[index]!),
      yes: written(first, yes) ?? yes[0]!,
      no: written(first, no) ?? no[0]!,
      change: { isNatural: true, languages: [languages, language].filter(Boolean).join(',') },
    };
  }
  return undefined;
}
