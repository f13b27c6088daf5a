/** How the rows of a sheet are read. */

import type { ExpandedBytes } from '../../core/cells/expanded-bytes.ts';
import type { LeftOutOptions } from './left-out-parts.ts';
import { type SheetWindow, windowOf } from './sheet-window.ts';
import type { SpreadsheetLimits } from './spreadsheet-limits.ts';
import type { SpreadsheetOptions } from './spreadsheet-options.ts';

export interface SheetRowsOptions extends SheetWindow, LeftOutOptions {
  columnNames: 'exact' | 'snake_case';
  cellErrors: 'problem' | 'null';
  /** The columns whose empty cells take the value above them. */
  fillDown: readonly string[];
  /** true: a row of blank texts is not blank, as in exports and in files of COPY (`quoted=exact`). COPY writes a space without quotes. */
  areBlanksValues: boolean;
  /** How much of the outline is kept. `brief`: enough for warnings. `whole`: enough for a proposal. `only`: like `whole`, but no cell reaches the sink. */
  outline: 'brief' | 'whole' | 'only';
  limits: SpreadsheetLimits;
  /** Counts the values of all sheets of the file. */
  expanded: ExpandedBytes;
}

/**
 * Converts what the caller asks for.
 *
 * @throws the errors of `windowOf`
 */
export function toRowsOptions(
  options: SpreadsheetOptions,
  limits: SpreadsheetLimits,
  expanded: ExpandedBytes,
): SheetRowsOptions {
  const {
    columnNames,
    cellErrors,
    hidden = 'read',
    footer = 'read',
    isOutlined = false,
    fillDown = [],
    text,
  } = options;
  const outline = isOutlined ? 'whole' : 'brief';
  return {
    ...windowOf(options),
    columnNames,
    cellErrors,
    fillDown,
    areBlanksValues: text?.quoted === 'exact',
    hidden,
    footer,
    outline,
    limits,
    expanded,
  };
}
