/** Makes elements. Preact's own `h` gives each element a type of its own, which no list of different elements has. */
import { type ComponentChildren, type ComponentType, h as create, type VNode } from 'preact';

export type Attributes = Record<string, unknown> | null;

export function h(tag: string, attributes: Attributes, ...children: ComponentChildren[]): VNode;
export function h<Props extends object>(component: ComponentType<Props>, props: Props): VNode;
export function h(type: unknown, attributes: unknown, ...children: ComponentChildren[]): VNode {
  return create(type as string, attributes as null, ...children) as VNode;
}
