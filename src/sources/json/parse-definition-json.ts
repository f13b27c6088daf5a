/** Parses the JSON text of a definition. A number or a boolean that is a `default` becomes its text, with every digit as it was sent. */
export function parseDefinitionJson(text: string): unknown {
  return JSON.parse(text, keepDefaultText);
}

function keepDefaultText(key: string, value: unknown, context?: { source?: string }): unknown {
  const isPlain = typeof value === 'number' || typeof value === 'boolean';
  return key === 'default' && isPlain ? (context?.source ?? String(value)) : value;
}
