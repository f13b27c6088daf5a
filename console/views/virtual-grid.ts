/** A table that draws only its visible cells. Therefore 1,600 columns and 10,000 rows are as fast as ten. */
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
  /** The width of the first column, which has the numbers of the rows; 0: there is none. */
  numberWidth?: number;
  head: (column: number) => Child;
  cell: (row: number, column: number) => { content: Child; kind?: string };
  number?: (row: number) => Child;
  rowKind?: (row: number) => string;
  cornerLabel?: string;
  /** The column that is visible at first. */
  shownColumn?: number;
}

interface Window {
  left: number;
  top: number;
  width: number;
  height: number;
}

const overscan = 3;

export class VirtualGrid extends Component<GridProps, Window> {
  readonly #element = createRef<HTMLDivElement>();
  #observer: ResizeObserver | undefined;
  override state: Window = { left: 0, top: 0, width: 900, height: 400 };

  readonly #measure = (): void => {
    const element = this.#element.current;
    if (!element) return;
    const { scrollLeft: left, scrollTop: top, clientWidth: width, clientHeight: height } = element;
    const { state } = this;
    if (left === state.left && top === state.top && width === state.width && height === state.height) return;
    this.setState({ left, top, width, height });
  };

  override componentDidMount(): void {
    this.#observer = new ResizeObserver(this.#measure);
    this.#observer.observe(this.#element.current!);
    this.#showColumn();
    this.#measure();
  }

  override componentWillUnmount(): void {
    this.#observer?.disconnect();
  }

  override componentDidUpdate({ shownColumn }: GridProps): void {
    if (shownColumn !== this.props.shownColumn) this.#showColumn();
  }

  /** Scrolls the column into the middle. */
  #showColumn(): void {
    const { shownColumn = -1, columnWidth, numberWidth = 0 } = scaled(this.props);
    const element = this.#element.current!;
    if (shownColumn < 0) return;
    element.scrollLeft = numberWidth + (shownColumn + 0.5) * columnWidth - element.clientWidth / 2;
  }

  render(given: GridProps, { left, top, width, height }: Window): VNode {
    const props = scaled(given);
    const {
      label,
      columnCount,
      rowCount,
      columnWidth,
      rowHeight,
      headHeight,
      maxHeight,
      numberWidth = 0,
    } = props;
    const firstColumn = Math.max(0, Math.floor(left / columnWidth) - overscan);
    const endColumn = Math.min(columnCount, Math.ceil((left + width) / columnWidth) + overscan);
    const firstRow = Math.max(0, Math.floor(top / rowHeight) - overscan);
    const endRow = Math.min(rowCount, Math.ceil((top + height) / rowHeight) + overscan);
    const columns = range(firstColumn, endColumn);
    const allWidth = numberWidth + columnCount * columnWidth;
    const place = (column: number) => ({
      left: `${numberWidth + column * columnWidth}px`,
      width: `${columnWidth}px`,
    });
    const numberIndex = numberWidth > 0 ? 1 : 0;
    return h(
      'div',
      {
        ref: this.#element,
        class: 'grid',
        role: 'table',
        tabIndex: 0,
        'aria-label': label,
        'aria-rowcount': rowCount + 1,
        'aria-colcount': columnCount + numberIndex,
        style: { maxHeight: `${maxHeight}px`, height: `${headHeight + rowCount * rowHeight + 18}px` },
        onScroll: this.#measure,
      },
      h(
        'div',
        {
          class: 'grid-head',
          role: 'row',
          'aria-rowindex': 1,
          style: { width: `${allWidth}px`, height: `${headHeight}px` },
        },
        numberWidth > 0
          ? h(
              'div',
              {
                class: 'grid-number',
                role: 'columnheader',
                'aria-colindex': 1,
                style: { width: `${numberWidth}px` },
              },
              h('span', { class: 'unseen' }, props.cornerLabel ?? 'Row'),
            )
          : null,
        columns.map((column) =>
          h(
            'div',
            {
              class: 'grid-cell',
              role: 'columnheader',
              key: column,
              'aria-colindex': column + 1 + numberIndex,
              style: place(column),
            },
            props.head(column),
          ),
        ),
      ),
      h(
        'div',
        {
          class: 'grid-body',
          role: 'rowgroup',
          style: { width: `${allWidth}px`, height: `${rowCount * rowHeight}px` },
        },
        range(firstRow, endRow).map((row) =>
          h(
            'div',
            {
              class: `grid-row ${props.rowKind?.(row) ?? ''}`,
              role: 'row',
              key: row,
              'aria-rowindex': row + 2,
              style: { top: `${row * rowHeight}px`, height: `${rowHeight}px`, width: `${allWidth}px` },
            },
            numberWidth > 0
              ? h(
                  'div',
                  {
                    class: 'grid-number',
                    role: 'rowheader',
                    'aria-colindex': 1,
                    style: { width: `${numberWidth}px` },
                  },
                  props.number?.(row),
                )
              : null,
            columns.map((column) => {
              const { content, kind = '' } = props.cell(row, column);
              return h(
                'div',
                {
                  class: `grid-cell ${kind}`,
                  role: 'cell',
                  key: column,
                  'aria-colindex': column + 1 + numberIndex,
                  style: place(column),
                },
                content,
              );
            }),
          ),
        ),
      ),
    );
  }
}

/** Sizes are given for a font of 15 px. Large screens have a larger font (style.css). */
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

function scaleOfPage(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 15;
}

interface RowsProps {
  label: string;
  count: number;
  rowHeight: number;
  maxHeight: number;
  role?: 'list' | 'group';
  row: (index: number) => Child;
}

/** A list that draws only its visible rows and the row with the focus. */
export class VirtualRows extends Component<RowsProps, { top: number; height: number; focused: number }> {
  readonly #element = createRef<HTMLDivElement>();
  #observer: ResizeObserver | undefined;
  override state = { top: 0, height: 600, focused: -1 };

  readonly #measure = (): void => {
    const element = this.#element.current;
    if (!element) return;
    const { scrollTop: top, clientHeight: height } = element;
    if (top !== this.state.top || height !== this.state.height) this.setState({ top, height });
  };

  override componentDidMount(): void {
    this.#observer = new ResizeObserver(this.#measure);
    this.#observer.observe(this.#element.current!);
    this.#measure();
  }

  override componentWillUnmount(): void {
    this.#observer?.disconnect();
  }

  render(
    { label, count, rowHeight: givenHeight, maxHeight, role = 'list', row }: RowsProps,
    { top, height, focused }: { top: number; height: number; focused: number },
  ): VNode {
    const scale = scaleOfPage();
    const rowHeight = givenHeight * scale;
    const first = Math.max(0, Math.floor(top / rowHeight) - overscan);
    const end = Math.min(count, Math.ceil((top + height) / rowHeight) + overscan);
    const shown = range(first, end);
    if (focused >= 0 && focused < count && (focused < first || focused >= end)) shown.push(focused);
    const itemRole = role === 'list' ? 'listitem' : 'group';
    return h(
      'div',
      {
        ref: this.#element,
        class: 'virtual-rows',
        role: 'region',
        tabIndex: 0,
        'aria-label': label,
        style: { maxHeight: `${maxHeight * scale}px`, height: `${count * rowHeight + 2}px` },
        onScroll: this.#measure,
        onFocusIn: ({ target }: FocusEvent) => {
          const index = (target as HTMLElement).closest('[data-index]')?.getAttribute('data-index');
          if (index != null) this.setState({ focused: Number(index) });
        },
      },
      h(
        'div',
        { class: 'virtual-all', role, style: { height: `${count * rowHeight}px` } },
        shown.map((index) =>
          h(
            'div',
            {
              class: 'virtual-row',
              role: itemRole,
              key: index,
              'data-index': index,
              ...(role === 'list' && { 'aria-setsize': count, 'aria-posinset': index + 1 }),
              style: { top: `${index * rowHeight}px`, height: `${rowHeight}px` },
            },
            row(index),
          ),
        ),
      ),
    );
  }
}

function range(from: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - from) }, (_, index) => from + index);
}
