/** The default values of the upload parameters, and lists of choices with their labels. The types of the client define which choices exist. */
import type { LoadQuery } from '../client/client.ts';
import { uploadParameters } from '../client/parameters.ts';

type Name = keyof LoadQuery;
export type ValueOf<Parameter extends Name> = NonNullable<LoadQuery[Parameter]>;

const defaults = new Map<string, unknown>(uploadParameters.map(({ name, default: value }) => [name, value]));

export function defaultOf<Parameter extends Name>(name: Parameter): ValueOf<Parameter> {
  return defaults.get(name) as ValueOf<Parameter>;
}

/** Returns the query without parameters that have their default value. */
export function withoutDefaults(query: LoadQuery): LoadQuery {
  return Object.fromEntries(Object.entries(query).filter(([name, value]) => value !== defaults.get(name)));
}

/** Returns the choices of a parameter as options with labels. TypeScript checks that each choice has a label. */
export function labelled<Parameter extends Name>(
  labels: Record<ValueOf<Parameter> & string, string>,
): [ValueOf<Parameter> & string, string][] {
  return Object.entries(labels) as [ValueOf<Parameter> & string, string][];
}
