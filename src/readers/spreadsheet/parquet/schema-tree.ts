/** Reads the schema of a file as a tree of fields, with the levels by which nested values are found (Dremel). */

import type { SchemaElement } from 'hyparquet';
import { type LeafType, leafTypeOf } from './column-types.ts';
import { broken, Fault } from './fault.ts';

/** What the values of a field are in JSON. */
export type FieldKind = 'leaf' | 'struct' | 'list' | 'map';

export interface Field {
  name: string;
  kind: FieldKind;
  /** Values are null if the definition level is lower than `definition`. */
  isOptional: boolean;
  /** The definition level from which on the field itself has a value. */
  definition: number;
  /**
   * For lists and maps: the definition level from which on there is an element, and the repetition level of each element after the first one.
   * 0 for others.
   */
  elementDefinition: number;
  elementRepetition: number;
  /** The members of a struct, the one element of a list, the key and perhaps the value of a map. */
  children: Field[];
  /** For a leaf. */
  type: LeafType | undefined;
  /** The leaves of the field: from `firstLeaf` to `lastLeaf`, both included. */
  firstLeaf: number;
  lastLeaf: number;
}

/** A leaf of the schema, which is one column of a row group. */
export interface Leaf {
  path: string[];
  type: LeafType;
  definition: number;
  repetition: number;
}

export interface Schema {
  columns: Field[];
  leaves: Leaf[];
}

const maxDepth = 100;

/** Levels are stored in bytes. */
const maxLevel = 255;

/** @throws Fault */
export function readSchema(elements: SchemaElement[]): Schema {
  const [root] = elements;
  if (root === undefined) throw broken('no schema');
  const reading = { elements, next: 1, leaves: [] };
  const columns = readChildren(reading, root, { path: [], definition: 0, repetition: 0 });
  if (reading.next !== elements.length) throw broken('fields after the schema');
  return { columns, leaves: reading.leaves };
}

interface Reading {
  elements: SchemaElement[];
  next: number;
  leaves: Leaf[];
}

/** Where a field is: its names, and the levels of the field around it. */
interface Place {
  path: string[];
  definition: number;
  repetition: number;
}

function readChildren(reading: Reading, parent: SchemaElement, place: Place): Field[] {
  const children: Field[] = [];
  const childCount = parent.num_children ?? 0;
  if (childCount < 0) throw broken('a negative number of fields');
  for (let count = childCount; count > 0; count--) {
    const element = reading.elements[reading.next];
    if (element === undefined) throw broken('a field is missing');
    reading.next++;
    children.push(readField(reading, element, place));
  }
  return children;
}

/** Reads a field. A repeated field that is not within a list or map is a list of its values. */
function readField(reading: Reading, element: SchemaElement, place: Place): Field {
  const { definition, repetition } = place;
  if (element.repetition_type !== 'REPEATED') return readSingle(reading, element, place);
  const firstLeaf = reading.leaves.length;
  const inner = { ...place, definition: definition + 1, repetition: repetition + 1 };
  const item = readSingle(reading, element, inner);
  return listOf(item, { name: element.name, isOptional: false, definition }, inner, firstLeaf);
}

/** Reads a field without its own repetition. */
function readSingle(reading: Reading, element: SchemaElement, around: Place): Field {
  const { name, repetition_type: repetitionType } = element;
  const path = [...around.path, name];
  if (path.length > maxDepth) throw broken('too many fields within fields');
  const isOptional = repetitionType === 'OPTIONAL';
  const definition = around.definition + (isOptional ? 1 : 0);
  if (definition > maxLevel) throw broken('too many levels');
  const place = { ...around, path, definition };
  const firstLeaf = reading.leaves.length;
  const field = { name, isOptional, definition };
  if (!element.num_children) {
    const type = leafTypeOf(element);
    reading.leaves.push({ path, type, definition, repetition: around.repetition });
    return { ...field, ...noElements, kind: 'leaf', children: [], type, firstLeaf, lastLeaf: firstLeaf };
  }
  const annotation = element.logical_type?.type ?? element.converted_type;
  if (annotation === 'VARIANT') throw new Fault('variant', path.join('.'));
  const repeated = element.num_children === 1 ? reading.elements[reading.next] : undefined;
  if (repeated?.repetition_type === 'REPEATED') {
    if (annotation === 'LIST') return readList(reading, element, repeated, field, place);
    const isMap = annotation === 'MAP' || annotation === 'MAP_KEY_VALUE';
    if (isMap && (repeated.num_children ?? 0) > 0) return readMap(reading, repeated, field, place);
  }
  const children = readChildren(reading, element, place);
  if (new Set(children.map((child) => child.name)).size < children.length)
    throw broken('two fields of a struct have the same name');
  const lastLeaf = reading.leaves.length - 1;
  return { ...field, ...noElements, kind: 'struct', children, type: undefined, firstLeaf, lastLeaf };
}

const noElements = { elementDefinition: 0, elementRepetition: 0 };

type Named = Pick<Field, 'name' | 'isOptional' | 'definition'>;

/**
 * Reads a list. Its repeated field is usually a group with one field, which is the element. In older files the repeated field is the element
 * itself (LogicalTypes.md, "Backward-compatibility rules").
 */
function readList(
  reading: Reading,
  element: SchemaElement,
  repeated: SchemaElement,
  field: Named,
  place: Place,
): Field {
  const firstLeaf = reading.leaves.length;
  reading.next++;
  const { definition, repetition } = place;
  const inner = { ...place, definition: definition + 1, repetition: repetition + 1 };
  const isWrapper =
    repeated.num_children === 1 &&
    repeated.name !== 'array' &&
    repeated.name !== `${element.name}_tuple` &&
    reading.elements[reading.next]?.repetition_type !== 'REPEATED';
  const item = isWrapper
    ? readChildren(reading, repeated, { ...inner, path: [...place.path, repeated.name] })[0]!
    : readSingle(reading, repeated, inner);
  return listOf(item, field, inner, firstLeaf);
}

function listOf(item: Field, field: Named, inner: Place, firstLeaf: number): Field {
  const { definition: elementDefinition, repetition: elementRepetition } = inner;
  const { lastLeaf } = item;
  return {
    ...field,
    kind: 'list',
    elementDefinition,
    elementRepetition,
    children: [item],
    type: undefined,
    firstLeaf,
    lastLeaf,
  };
}

/** Reads a map: its repeated group has the key and the value. In a set the value is missing. */
function readMap(reading: Reading, repeated: SchemaElement, field: Named, place: Place): Field {
  const firstLeaf = reading.leaves.length;
  reading.next++;
  const { definition, repetition } = place;
  const inner = {
    path: [...place.path, repeated.name],
    definition: definition + 1,
    repetition: repetition + 1,
  };
  const children = readChildren(reading, repeated, inner);
  const key = children[0];
  if (children.length > 2 || key?.kind !== 'leaf') {
    const name = repeated.name;
    const isOptional = false;
    const lastLeaf = reading.leaves.length - 1;
    const members: Field = {
      ...{ name, isOptional, definition: inner.definition, ...noElements },
      ...{ kind: 'struct', children, type: undefined, firstLeaf, lastLeaf },
    };
    return listOf(members, field, inner, firstLeaf);
  }
  const map = listOf(key, field, inner, firstLeaf);
  return { ...map, kind: 'map', children, lastLeaf: reading.leaves.length - 1 };
}
