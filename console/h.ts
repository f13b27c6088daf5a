/** Creates elements. Preact's own `h` returns a different type for each tag, and elements of different types do not fit into one list. */
import { type ComponentChildren, type ComponentType, h as create, type JSX, type VNode } from 'preact';

type Tag = keyof JSX.IntrinsicElements;

/** The attributes that an element may have. */
export type Attributes<Name extends Tag> = JSX.IntrinsicElements[Name] & {
  [name: `data-${string}`]: string | number;
};

export function h<Props extends object>(component: ComponentType<Props>, props: Props): VNode;
/** @param children one child or a list of children */
export function h<Name extends Tag>(
  tag: Name,
  attributes: Attributes<Name> | null,
  children?: ComponentChildren,
): VNode;
export function h(type: unknown, attributes: unknown, children?: ComponentChildren): VNode {
  // If a third argument is passed, even undefined, Preact ignores the property `children` of a component.
  if (children === undefined) return create(type as string, attributes as null) as VNode;
  return create(type as string, attributes as null, children) as VNode;
}
