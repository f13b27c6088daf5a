/** The reasons why a Parquet file cannot be read, as the process reports them. */

export type ParquetFault =
  | 'broken'
  | 'encrypted'
  | 'other-file'
  | 'unknown-codec'
  | 'unknown-encoding'
  | 'page-too-large'
  | 'no-columns'
  | 'too-many-columns'
  | 'value-too-long'
  | 'variant';

/** The file cannot be read. `detail` is for the log, or names the column. */
export class Fault extends Error {
  readonly fault: ParquetFault;

  constructor(fault: ParquetFault, detail = '') {
    super(detail);
    this.fault = fault;
  }
}

/** The file contradicts itself or the specification of the format. */
export function broken(detail: string): Fault {
  return new Fault('broken', detail);
}
