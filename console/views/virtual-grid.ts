/** A table that renders only its visible cells, so that 1,600 columns and 10,000 rows are as fast as ten. */
import { Component, createRef, type VNode } from 'preact';
import { h } from '../h.ts';
import type { Child } from './parts.ts';

interface GridProps {
  label: string;
  columnCount: number;
  rowCount: number;
  columnWidth: number;
  rowHeight: number;
  headHeight: number;
  maxHeight: number;
  /** The width of the first column, which shows the row numbers; 0: there is no such column. */
  numberWidth?: number;
  head: (column: number) => Child;
  cell: (row: number, column: number) => { content: Child; kind?: string };
  number?: (row: number) => Child;
  rowKind?: (row: number) => string;
  cornerLabel?: string;
  /** The column to which the table scrolls when it is shown. */
  shownColumn?: number;
}

/** The rows or columns to render: from `first` up to, but without, `end`. `end` may be above the number of rows. */
interface Part {
  first: number;
  end: number;
}

const overscan = 3;

/** Returns the visible part and a little more. @param size the height of a row or the width of a column */
function partAt(start: number, length: number, size: number): Part {
  return {
    first: Math.max(0, Math.floor(start / size) - overscan),
    end: Math.ceil((start + length) / size) + overscan,
  };
}

/** Returns whether both parts contain the same of the `count` rows or columns. */
function isSamePart(one: Part, other: Part, count: number): boolean {
  return one.first === other.first && Math.min(one.end, count) === Math.min(other.end, count);
}

const measures = new WeakMap<Element, () => void>();

/**
 * Measures all grids and lists whose size has changed, after the browser has computed the layout. Measuring while the page is drawn
 * would force an additional layout, and one observer for each grid would force one more each.
 */
const observer = new ResizeObserver((entries) => {
  for (const { target } of entries) measures.get(target)?.();
});

/** A component that renders only its visible part. It is drawn again when scrolling or a new size makes another part visible. */
abstract class Virtual<Props, Own = object> extends Component<Props, Own> {
  protected readonly element = createRef<HTMLDivElement>();
  /** undefined: not measured yet. */
  protected columns: Part | undefined;
  protected rows: Part | undefined;

  /** Stores which part is visible. @returns whether this part is already rendered */
  protected abstract note(element: HTMLDivElement): boolean;

  protected readonly measure = (): void => {
    const element = this.element.current;
    if (element && !this.note(element)) this.forceUpdate();
  };

  override componentDidMount(): void {
    measures.set(this.element.current!, this.measure);
    observer.observe(this.element.current!);
  }

  override componentWillUnmount(): void {
    observer.unobserve(this.element.current!);
  }
}

export class VirtualGrid extends Virtual<GridProps> {
  protected override note({ scrollLeft, scrollTop, clientWidth, clientHeight }: HTMLDivElement): boolean {
    const { columnWidth, rowHeight, columnCount, rowCount } = scaled(this.props);
    const columns = partAt(scrollLeft, clientWidth, columnWidth);
    const rows = partAt(scrollTop, clientHeight, rowHeight);
    const isDrawn =
      isSamePart(columns, this.#drawnColumns(columnWidth), columnCount) &&
      isSamePart(rows, this.#drawnRows(rowHeight), rowCount);
    this.columns = columns;
    this.rows = rows;
    return isDrawn;
  }

  #drawnColumns(columnWidth: number): Part {
    return this.columns ?? partAt(0, innerWidth, columnWidth);
  }

  #drawnRows(rowHeight: number): Part {
    return this.rows ?? partAt(0, this.props.maxHeight, rowHeight);
  }

  override componentDidMount(): void {
    super.componentDidMount();
    this.#showColumn();
  }

  override componentDidUpdate({ shownColumn }: GridProps): void {
    if (shownColumn !== this.props.shownColumn) this.#showColumn();
  }

  /** Scrolls `shownColumn` into the middle. */
  #showColumn(): void {
    const { shownColumn = -1, columnWidth, numberWidth = 0 } = scaled(this.props);
    const element = this.element.current!;
    if (shownColumn < 0) return;
    element.scrollLeft = numberWidth + (shownColumn + 0.5) * columnWidth - element.clientWidth / 2;
  }

  render(given: GridProps): VNode {
    const props = scaled(given);
    const { label, columnCount, rowCount, columnWidth, rowHeight, headHeight, maxHeight } = props;
    const { numberWidth = 0, cornerLabel = 'Row' } = props;
    const columns = within(this.#drawnColumns(columnWidth), columnCount);
    const rows = within(this.#drawnRows(rowHeight), rowCount);
    const width = `${numberWidth + columnCount * columnWidth}px`;
    const corner = h('span', { class: 'unseen' }, cornerLabel);
    const head = cellsOf(props, columns, corner, (column) => ({ content: props.head(column) }), true);
    const grid = {
      ref: this.element,
      class: 'grid',
      role: 'table',
      tabIndex: 0,
      'aria-label': label,
      'aria-rowcount': rowCount + 1,
      'aria-colcount': columnCount + (numberWidth > 0 ? 1 : 0),
      style: { maxHeight: `${maxHeight}px`, height: `${headHeight + rowCount * rowHeight + 18}px` },
      onScroll: this.measure,
    } as const;
    const headStyle = { width, height: `${headHeight}px` };
    const bodyStyle = { width, height: `${rowCount * rowHeight}px` };
    return h('div', grid, [
      h('div', { class: 'grid-head', role: 'row', 'aria-rowindex': 1, style: headStyle }, head),
      h('div', { class: 'grid-body', role: 'rowgroup', style: bodyStyle }, [
        rows.map((row) => {
          const kind = `grid-row ${props.rowKind?.(row) ?? ''}`;
          const style = { top: `${row * rowHeight}px`, height: `${rowHeight}px`, width };
          const cells = cellsOf(props, columns, props.number?.(row), (column) => props.cell(row, column));
          return h('div', { class: kind, role: 'row', key: row, 'aria-rowindex': row + 2, style }, cells);
        }),
      ]),
    ]);
  }
}

/** Returns the cells of a row or of the header: the row number, and the cells of the rendered columns. */
function cellsOf(
  { numberWidth = 0, columnWidth }: GridProps,
  columns: number[],
  number: Child,
  cell: (column: number) => { content: Child; kind?: string },
  isHead = false,
): Child[] {
  const [numberRole, role] = isHead
    ? (['columnheader', 'columnheader'] as const)
    : (['rowheader', 'cell'] as const);
  const isNumbered = numberWidth > 0;
  const numberStyle = { width: `${numberWidth}px` };
  return [
    isNumbered &&
      h('div', { class: 'grid-number', role: numberRole, 'aria-colindex': 1, style: numberStyle }, number),
    columns.map((column) => {
      const { content, kind = '' } = cell(column);
      const style = { left: `${numberWidth + column * columnWidth}px`, width: `${columnWidth}px` };
      const index = column + 1 + (isNumbered ? 1 : 0);
      return h(
        'div',
        { class: `grid-cell ${kind}`, role, key: column, 'aria-colindex': index, style },
        content,
      );
    }),
  ];
}

/** The sizes are for a font of 15 px. They are scaled, because style.css uses a larger font on large screens. */
function scaled(props: GridProps): GridProps {
  const scale = scaleOfPage();
  if (scale === 1) return props;
  return {
    ...props,
    columnWidth: props.columnWidth * scale,
    rowHeight: props.rowHeight * scale,
    headHeight: props.headHeight * scale,
    maxHeight: props.maxHeight * scale,
    numberWidth: (props.numberWidth ?? 0) * scale,
  };
}

let knownScale: number | undefined;
addEventListener('resize', () => {
  knownScale = undefined;
});

/** The scale is stored until the window changes, because reading it makes the browser recompute the styles. */
function scaleOfPage(): number {
  knownScale ??= Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 15;
  return knownScale;
}

interface RowsProps {
  label: string;
  count: number;
  rowHeight: number;
  maxHeight: number;
  role?: 'list' | 'group';
  /** Returns what identifies a row while rows above it are removed. Default: its index. */
  keyOf?: ((index: number) => string) | undefined;
  row: (index: number) => Child;
}

/** A list that renders only its visible rows and the row that has the focus. */
export class VirtualRows extends Virtual<RowsProps, { focused: number }> {
  override state = { focused: -1 };

  protected override note({ scrollTop, clientHeight }: HTMLDivElement): boolean {
    const rowHeight = this.props.rowHeight * scaleOfPage();
    const rows = partAt(scrollTop, clientHeight, rowHeight);
    const isDrawn = isSamePart(rows, this.#drawnRows(rowHeight), this.props.count);
    this.rows = rows;
    return isDrawn;
  }

  #drawnRows(rowHeight: number): Part {
    return this.rows ?? partAt(0, this.props.maxHeight, rowHeight);
  }

  render(
    { label, count, rowHeight: givenHeight, maxHeight, role = 'list', keyOf, row }: RowsProps,
    { focused }: { focused: number },
  ): VNode {
    const scale = scaleOfPage();
    const rowHeight = givenHeight * scale;
    const shown = within(this.#drawnRows(rowHeight), count);
    if (focused >= 0 && focused < count && !shown.includes(focused)) shown.push(focused);
    const itemRole = role === 'list' ? 'listitem' : 'group';
    const list = {
      ref: this.element,
      class: 'virtual-rows',
      role: 'region',
      tabIndex: 0,
      'aria-label': label,
      style: { maxHeight: `${maxHeight * scale}px`, height: `${count * rowHeight + 2}px` },
      onScroll: this.measure,
      onFocusIn: ({ target }: FocusEvent) => {
        const index = (target as HTMLElement).closest('[data-index]')?.getAttribute('data-index');
        if (index != null) this.setState({ focused: Number(index) });
      },
    } as const;
    return h('div', list, [
      h('div', { class: 'virtual-all', role, style: { height: `${count * rowHeight}px` } }, [
        shown.map((index) => {
          const place = role === 'list' && { 'aria-setsize': count, 'aria-posinset': index + 1 };
          const style = { top: `${index * rowHeight}px`, height: `${rowHeight}px` };
          const item = {
            class: 'virtual-row',
            role: itemRole,
            key: keyOf?.(index) ?? index,
            'data-index': index,
            style,
          } as const;
          return h('div', { ...item, ...place }, row(index));
        }),
      ]),
    ]);
  }
}

/** Returns the indexes of a part that are below `count`. */
function within({ first, end }: Part, count: number): number[] {
  return Array.from({ length: Math.max(0, Math.min(end, count) - first) }, (_, index) => first + index);
}
