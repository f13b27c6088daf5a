/** Ends a load in one pass, because the first rows do not have the types of all rows. */
export class TypesDiffer extends Error {
  override name = 'TypesDiffer';
  constructor(options?: ErrorOptions) {
    super('the first rows do not have the types of all rows', options);
  }
}
