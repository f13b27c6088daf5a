/** Gives up a load in one pass: the first rows do not have the types of all rows. */
export class TypesDiffer extends Error {
  override name = 'TypesDiffer';
  constructor(options?: ErrorOptions) {
    super('the first rows do not have the types of all rows', options);
  }
}
