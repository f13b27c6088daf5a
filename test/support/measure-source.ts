/** Measures the source: the lines of files, and the functions and variables of modules, found in the syntax tree. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

const root = join(import.meta.dirname, '..', '..');

export interface SourceFunction {
  name: string;
  lines: number;
  parameters: number;
}

interface SyntaxNode {
  type: string;
  start: number;
  end: number;
  [member: string]: unknown;
}

/** Returns the source files without tests and generated types, relative to the project's folder. */
export function sourceFiles(): string[] {
  return globSync('{src,cli,client,console}/**/*.ts', { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !/\.(test|d)\.ts$/.test(file) && file !== 'client/api-types.ts')
    .sort();
}

export function readSource(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

export function countLines(text: string): number {
  return text.split('\n').length - 1;
}

/** Returns every function and method with a body. An anonymous function has the name of the variable or member that it is given to. */
export function functionsOf(text: string): SourceFunction[] {
  const found: SourceFunction[] = [];
  visit(parse(text), undefined, (node, parent) => {
    if (!isFunction(node)) return;
    const lines = countLines(text.slice(node.start, node.end)) + 1;
    const { params } = node as unknown as { params: unknown[] };
    found.push({ name: nameOf(node) ?? nameOf(parent) ?? 'anonymous', lines, parameters: params.length });
  });
  return found;
}

/** Returns the variables of the module that can change: `let`, and collections that are empty at the start. */
export function stateOf(text: string): string[] {
  const { body } = parse(text) as unknown as { body: SyntaxNode[] };
  return body.flatMap((statement) => {
    const declaration = (statement.declaration ?? statement) as SyntaxNode;
    if (declaration.type !== 'VariableDeclaration') return [];
    const variables = declaration.declarations as { id: { name: string }; init: SyntaxNode | null }[];
    return variables
      .filter(({ init }) => declaration.kind === 'let' || isEmptyCollection(init))
      .map(({ id }) => id.name);
  });
}

function parse(text: string): SyntaxNode {
  return parseAst(text, { lang: 'ts' }) as unknown as SyntaxNode;
}

function isFunction(node: SyntaxNode): boolean {
  return (
    ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'].includes(node.type) &&
    node.body !== null
  );
}

function isEmptyCollection(init: SyntaxNode | null): boolean {
  if (init?.type !== 'NewExpression') return false;
  const { callee, arguments: values } = init as unknown as {
    callee: { name?: string };
    arguments: unknown[];
  };
  return /^(Weak)?(Map|Set)$/.test(callee.name ?? '') && values.length === 0;
}

function nameOf(node: SyntaxNode | undefined): string | undefined {
  const name = (node?.id ?? node?.key) as { name?: string } | undefined;
  return name?.name;
}

function visit(
  node: SyntaxNode,
  parent: SyntaxNode | undefined,
  see: (node: SyntaxNode, parent: SyntaxNode | undefined) => void,
): void {
  see(node, parent);
  for (const member of Object.values(node)) {
    for (const child of Array.isArray(member) ? member : [member]) {
      if (typeof child?.type === 'string') visit(child, node, see);
    }
  }
}
