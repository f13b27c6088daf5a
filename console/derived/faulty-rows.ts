/** The rows with problems as a file: how the repaired file is read and loaded. */
import { emptyReading, noRules } from '../initial-state.ts';
import type { ChosenFile, Reading, State } from '../state.ts';

export type RepairFormat = 'xlsx' | 'csv';

/** The parameters of a text file that also apply to its repaired file, because the service writes that file in the same form. */
const ofTexts = ['delimiter', 'quotes', 'quoted'] as const;
const ofAllFiles = ['column_names', 'empty_cells', 'all_text', 'flatten', 'flatten_separator'] as const;

const isText = (name: string): boolean => /\.(csv|tsv|txt)(\.(gz|zst|br))?$/i.test(name);

/**
 * Returns how the repaired file is read: its values as those of the first file. What says where the rows are, or which encoding
 * they have, belongs to the first file only.
 */
export function repairedReading(
  reading: Reading,
  first: Pick<ChosenFile, 'name'>,
  repaired: { name: string },
): Reading {
  const { nullValues, dateOrder, decimalSign, thousandsSign, trim, isNatural, languages, errorsAreNull } =
    reading;
  const isTextAgain = isText(first.name) && isText(repaired.name);
  const kept = [...ofAllFiles, ...(isTextAgain ? ofTexts : [])].flatMap((name) =>
    reading.more[name] ? [[name, reading.more[name]] as const] : [],
  );
  // A CSV of the rows of a workbook has its texts in quotes: without quotes, an empty field is NULL.
  const isMadeText = isText(repaired.name) && !isText(first.name);
  return {
    ...emptyReading,
    ...{ nullValues, dateOrder, decimalSign, thousandsSign, trim, isNatural, languages, errorsAreNull },
    more: { ...Object.fromEntries(kept), ...(isMadeText && { quoted: 'exact' }) },
  };
}

/** Returns where the repaired rows go: they are added to the table that has the other rows now. */
export function repairedTarget({
  target,
  rows,
}: Pick<State, 'target' | 'rows'>): Pick<State, 'target' | 'rows'> {
  return {
    target: { ...target, ifExists: 'append' },
    // A row that is left out once more would be easy to overlook, and all rows that had no problem would be missing.
    rows: {
      ...rows,
      leaveOutFaulty: noRules.leaveOutFaulty,
      maxFaulty: noRules.maxFaulty,
      missing: noRules.missing,
    },
  };
}
