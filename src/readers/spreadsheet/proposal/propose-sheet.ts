/** Proposes the sheet of a file whose table is the largest. */

import { listNames, quote } from '../choose-sheet.ts';
import type { SheetSummary } from '../spreadsheet-options.ts';
import type { LargestTable, SheetProposal } from './propose-table.ts';

export interface FileProposal extends SheetProposal {
  /** Absent: no sheet has a table, or the file has no sheets. */
  sheet?: string;
}

export interface OutlinedSheet extends Pick<SheetSummary, 'name' | 'visibility' | 'hasCells'> {
  /** Undefined: the sheet cannot be read. */
  proposal?: SheetProposal | undefined;
}

export function proposeSheet(sheets: OutlinedSheet[]): FileProposal {
  const candidates = sheetsToCompare(sheets);
  const withTables = candidates
    .filter((sheet): sheet is OutlinedSheet & { proposal: TableProposal } => isTable(sheet.proposal))
    .toSorted((a, b) => b.proposal.table.score - a.proposal.table.score);
  const [best, ...others] = withTables;
  if (best === undefined) return { table: undefined, reasons: [reasonForNone(candidates)], otherTables: [] };
  if (best.name === '') return best.proposal;
  return {
    ...best.proposal,
    sheet: best.name,
    reasons: [sheetReason(best.name, others), ...best.proposal.reasons],
  };
}

type TableProposal = SheetProposal & { table: LargestTable };

function isTable(proposal: SheetProposal | undefined): proposal is TableProposal {
  return proposal?.table !== undefined;
}

/** Returns the visible sheets that have cells, or all that have cells if none of them is visible. */
export function sheetsToCompare<Sheet extends Pick<SheetSummary, 'visibility' | 'hasCells'>>(
  sheets: Sheet[],
): Sheet[] {
  const withCells = sheets.filter(({ hasCells }) => hasCells);
  const visible = withCells.filter(({ visibility }) => visibility === 'visible');
  return visible.length > 0 ? visible : withCells;
}

function sheetReason(name: string, others: { name: string }[]): string {
  if (others.length === 0) return `No sheet but ${quote(name)} has a table.`;
  const have = others.length === 1 ? 'another sheet has a table' : 'other sheets have tables';
  return `Its table is the largest; ${have} too: ${listNames(others)}.`;
}

function reasonForNone(sheets: OutlinedSheet[]): string {
  const [only] = sheets;
  if (sheets.length === 1) return only!.proposal?.reasons[0] ?? 'The sheet cannot be read.';
  return 'No visible sheet has a row with different texts in most columns and values beneath it.';
}
