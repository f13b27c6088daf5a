/**
 * Checks query strings with the TypeBox schemas of the OpenAPI document.
 */
import Type, { type Static, type TObject } from 'typebox';
import { Compile } from 'typebox/compile';
import { Check } from 'typebox/value';
import { AppError, type Problem } from '../../core/errors.ts';

/** Returns the schema of a parameter that takes one of these values. */
export function choice<const Values extends readonly string[]>(
  values: Values,
  options: { default?: Values[number]; description?: string },
) {
  return Type.Unsafe<Values[number]>(Type.String({ enum: [...values], ...options }));
}

/** A parser for the query of one endpoint. Its result contains every default. */
export type QueryParser<Schema extends TObject> = (query: unknown) => Static<Schema>;

/**
 * Returns the parser for a schema.
 *
 * @param ignored parameters that have no effect, by name: an inspection takes the query of an upload
 * @throws (the parser) AppError `invalid-parameter` with one problem for each invalid parameter. Unknown parameters are
 * problems, because a misspelled `dry_run` must not load rows
 */
export function queryParser<Schema extends TObject>(
  schema: Schema,
  ignored: Readonly<Record<string, unknown>> = {},
): QueryParser<Schema> {
  const validator = Compile(schema);
  return (query) => {
    const given = query as Record<string, unknown>;
    const unknown = Object.keys(given).filter(
      (name) => !Object.hasOwn(schema.properties, name) && !Object.hasOwn(ignored, name),
    );
    const problems = unknown.map((name) => unknownParameter(name, Object.keys(schema.properties)));
    // PostgreSQL cannot store a text with NUL, so no parameter may contain it.
    const withNul = Object.keys(schema.properties).filter((name) => String(given[name]).includes('\0'));
    problems.push(...withNul.map(hasNul));
    const values: Record<string, unknown> = {};
    for (const [name, property] of Object.entries(schema.properties)) {
      const parameter = property as ParameterSchema;
      const value = parameterValue(given[name], parameter);
      if (value !== undefined) values[name] = value;
    }
    if (!validator.Check(values)) {
      // Each value is checked separately, because the validator lists only the first few errors.
      for (const [name, property] of Object.entries(schema.properties)) {
        const isFit = name in values ? Check(property, values[name]) : Type.IsOptional(property);
        if (!isFit && !withNul.includes(name))
          problems.push(refusedValue(name, given[name], property as ParameterSchema));
      }
    }
    if (problems.length > 0) {
      throw refusal(problems);
    }
    return values as Static<Schema>;
  };
}

function refusal(problems: Problem[]): AppError {
  const detail = problems.map((problem) => problem.detail).join(' ');
  return new AppError('invalid-parameter', detail, { errors: problems });
}

function hasNul(name: string): Problem {
  return {
    parameter: name,
    code: 'invalid-parameter',
    detail: `The query parameter ${name} must not contain the character NUL.`,
  };
}

interface ParameterSchema {
  type?: string;
  default?: unknown;
  enum?: string[];
  const?: string;
  minimum?: number;
  maximum?: number;
  anyOf?: ParameterSchema[];
  pattern?: string;
  examples?: string[];
}

function parameterValue(text: unknown, schema: ParameterSchema): unknown {
  if (text === undefined) return schema.default;
  if (schema.anyOf) {
    const values = schema.anyOf.map((one) => parameterValue(text, one));
    return values.find((value) => value !== text) ?? text;
  }
  if (schema.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  if (schema.type === 'integer')
    return typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : text;
  return text;
}

function unknownParameter(name: string, known: string[]): Problem {
  return {
    parameter: name,
    code: 'unknown-parameter',
    detail:
      name === 'password'
        ? 'A password must not be in a URL, because URLs are logged. Send it as the part password of the form.'
        : `This endpoint has no query parameter "${name}"; it has ${known.join(', ')}.`,
  };
}

function refusedValue(name: string, value: unknown, schema: ParameterSchema): Problem {
  return {
    parameter: name,
    ...(value !== undefined && { value: String(value).slice(0, 100) }),
    code: 'invalid-parameter',
    detail: Array.isArray(value)
      ? `The query parameter ${name} is sent more than once.`
      : `The query parameter ${name} must be ${expectation(schema)}.${upsertHint(value, schema)}`,
  };
}

/** Returns advice for a value that means an upsert in other programs (`upsert`, `merge` or `replace`). */
function upsertHint(value: unknown, { enum: allowed }: ParameterSchema): string {
  const isOfUploads = allowed?.includes('append') || allowed?.includes('update');
  return isOfUploads && /^(upsert|merge|update|replace)$/i.test(String(value))
    ? ' For an upsert send if_exists=append&on_conflict=update.'
    : '';
}

function expectation(schema: ParameterSchema): string {
  if (schema.anyOf) return schema.anyOf.map(expectation).join(', or ');
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return `one of ${schema.enum.join(', ')}`;
  if (schema.type === 'boolean') return 'true or false';
  if (schema.pattern !== undefined) return `a text such as ${schema.examples?.[0]}`;
  if (schema.type === 'integer') {
    return schema.maximum === undefined
      ? `a whole number, ${schema.minimum} or more`
      : `a whole number from ${schema.minimum} to ${schema.maximum}`;
  }
  return 'a PostgreSQL identifier of 1 to 63 bytes';
}
