/** Describes the tools with the schemas of the service's OpenAPI document. */
import type { Tool as DescribedTool } from '@modelcontextprotocol/server';
import { type Tool, tools } from './tools.ts';

interface Parameter {
  name: string;
  in: string;
  description?: string;
  schema: object;
}

interface Document {
  paths: Record<string, Record<string, { operationId?: string; parameters?: Parameter[] }>>;
  components: { schemas: Record<string, object> };
}

/** The arguments that are no parameters. `schema` names a schema of the document. */
const ownArguments = {
  file: { type: 'string', description: 'The path of the file on the machine of this program.' },
  table: {
    type: 'string',
    description: 'The name of the table. Default for a file: its name without the extension.',
  },
  id: { type: 'string', description: 'The id of the load.' },
  definition: { schema: 'TableDefinition' },
  change: { schema: 'TableChange' },
  new_definition: { schema: 'AlteredTable' },
} as const;

/** @param document the OpenAPI document */
export function describeTools(document: unknown): DescribedTool[] {
  return Object.entries(tools).map(([name, tool]) => ({
    name,
    description: tool.about,
    inputSchema: inputSchemaOf(tool, document as Document),
    annotations: { readOnlyHint: tool.isReadOnly === true, destructiveHint: tool.danger !== undefined },
  }));
}

function inputSchemaOf({ operations, without = [], own = {} }: Tool, { paths, components }: Document) {
  const properties: Record<string, object> = {};
  const required: string[] = [];
  for (const [name, isRequired] of Object.entries(own)) {
    const argument = ownArguments[name as keyof typeof ownArguments];
    properties[name] = 'schema' in argument ? { $ref: `#/components/schemas/${argument.schema}` } : argument;
    if (isRequired) required.push(name);
  }
  const all = Object.values(paths).flatMap((methods) => Object.values(methods));
  for (const { operationId, parameters = [] } of all) {
    if (!operations.includes(operationId ?? '')) continue;
    for (const { name, in: place, description, schema } of parameters)
      if (place === 'query' && !without.includes(name)) properties[name] = { description, ...schema };
  }
  const used = JSON.stringify(properties);
  const $defs = used.includes('#/components/schemas/') ? definitionsFor(used, components.schemas) : {};
  const schema = { type: 'object', properties, required, ...(Object.keys($defs).length > 0 && { $defs }) };
  return JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/'));
}

/** Returns the schemas of the document that a text refers to, directly or through others. */
function definitionsFor(text: string, schemas: Record<string, object>): Record<string, object> {
  const found: Record<string, object> = {};
  const waiting = [text];
  for (const one of waiting) {
    for (const [, name] of one.matchAll(/#\/components\/schemas\/(\w+)/g)) {
      if (found[name!] !== undefined || schemas[name!] === undefined) continue;
      found[name!] = schemas[name!]!;
      waiting.push(JSON.stringify(schemas[name!]));
    }
  }
  return found;
}
