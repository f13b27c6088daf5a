import type { SpreadsheetLimits } from '../../src/readers/spreadsheet/spreadsheet-limits.ts';

/** Returns limits that no file of a test reaches by accident. @param overrides the limits that a test needs to be different */
export function spreadsheetLimits(overrides: Partial<SpreadsheetLimits> = {}): SpreadsheetLimits {
  return {
    maxUnpackedBytes: 100_000_000,
    maxRatio: 1000,
    maxRows: 100_000,
    maxColumns: 50,
    maxCellBytes: 100_000,
    maxRowBytes: 400_000,
    maxSharedStringBytes: 1_000_000,
    maxLegacyFileBytes: 10_000_000,
    ...overrides,
  };
}
