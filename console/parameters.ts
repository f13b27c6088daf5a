/** The defaults of the upload parameters, from `client/parameters.ts`, and helpers for lists of choices. The types of the client have the choices. */
import type { LoadQuery } from '../client/client.ts';
import { uploadParameters } from '../client/parameters.ts';

type Name = keyof LoadQuery;
export type ValueOf<Parameter extends Name> = NonNullable<LoadQuery[Parameter]>;

const defaults = new Map<string, unknown>(uploadParameters.map(({ name, default: value }) => [name, value]));

export function defaultOf<Parameter extends Name>(name: Parameter): ValueOf<Parameter> {
  return defaults.get(name) as ValueOf<Parameter>;
}

/** Returns the query without the parameters that have their default. */
export function withoutDefaults(query: LoadQuery): LoadQuery {
  return Object.fromEntries(Object.entries(query).filter(([name, value]) => value !== defaults.get(name)));
}

/** Returns the choices of a parameter with their labels, as options. TypeScript checks that each choice has a label. */
export function labelled<Parameter extends Name>(
  labels: Record<ValueOf<Parameter> & string, string>,
): [ValueOf<Parameter> & string, string][] {
  return Object.entries(labels) as [ValueOf<Parameter> & string, string][];
}
