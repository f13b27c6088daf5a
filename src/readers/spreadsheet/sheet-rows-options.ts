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
  } = options;
  const outline = isOutlined ? 'whole' : 'brief';
  return {
    ...windowOf(options),
    columnNames,
    cellErrors,
    fillDown,
    hidden,
    footer,
    outline,
    limits,
    expanded,
  };
}
