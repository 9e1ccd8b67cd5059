/**
 * The editor of YAML, in a chunk of its own. It lives in a shadow root: there its style sheet is adopted, while the
 * <style> that it would put into the document is refused by the policy of the page.
 */
import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  completionKeymap
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, linter, lintGutter, lintKeymap } from '@codemirror/lint'
import { unifiedMergeView } from '@codemirror/merge'
import { Compartment, EditorState } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, hoverTooltip, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { aboutAt, keysAt, type SchemaNode, valuesAt } from './schema-place.ts'
import { placeIn } from './yaml-place.ts'

/** A mistake at a place, both from 1. */
export interface Mistake {
  readonly line: number
  readonly column: number
  readonly message: string
}

export interface EditorParts {
  /** Gets a shadow root. */
  readonly host: HTMLElement
  readonly label: string
  readonly text: string
  readonly onChange: (text: string) => void
  /** Of what may be written. */
  readonly schema: () => Promise<SchemaNode>
  /** Called when nobody has typed for a while. */
  readonly check: (text: string) => Promise<readonly Mistake[]>
}

export interface Editor {
  /** Goes to a place, both from 1. */
  show(line: number, column: number): void
  replace(text: string): void
  /** Draws how the text differs from another one; null: no more. */
  compare(original: string | null): void
  destroy(): void
}

const CHECK_DELAY_MS = 400
/** Of two texts, what is equal is folded away; nothing is taken over one by one. */
const DIFFERENCES = { mergeControls: false, gutter: true, collapseUnchanged: { margin: 3, minSize: 6 } } as const

/** Colours are the page's: custom properties go through shadow roots. */
const LOOK = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: '12.5px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { color: 'var(--muted)', backgroundColor: 'var(--ground)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine': { backgroundColor: 'var(--ground)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-soft)' },
  '.cm-tooltip': { color: 'var(--text)', backgroundColor: 'var(--surface)', border: '1px solid var(--edge)' },
  '.cm-tooltip.cm-tooltip-hover, .cm-completionInfo': { maxWidth: '460px', padding: '6px 10px', whiteSpace: 'normal' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { color: 'var(--on-accent)', backgroundColor: 'var(--accent)' },
  '.cm-completionDetail': { color: 'inherit', fontStyle: 'normal' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-changedLine': { backgroundColor: 'var(--accent-soft)' },
  '.cm-deletedChunk': { backgroundColor: 'var(--ground)', color: 'var(--muted)' },
  '.cm-deletedChunk .cm-deletedLine': { textDecoration: 'line-through' },
  '.cm-changedText, .cm-deletedChunk .cm-deletedText': { background: 'none', fontWeight: '600' },
  '.cm-changedLineGutter': { backgroundColor: 'var(--accent)' },
  '.cm-deletedLineGutter': { backgroundColor: 'var(--bad)' },
  '.cm-collapsedLines': { color: 'var(--muted)', background: 'var(--ground)' },
  // Its own marks are pictures by data:, which the policy of the page refuses.
  '.cm-lint-marker-error': { content: '""', borderRadius: '50%', backgroundColor: 'var(--bad)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)' }
})

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--series-1)' },
  { tag: [tags.string, tags.content], color: 'var(--text)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--series-3)' },
  { tag: [tags.comment], color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [tags.meta, tags.labelName, tags.typeName], color: 'var(--series-2)' }
])

export function createEditor({ host, label, text, onChange, check, schema }: EditorParts): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  const lint = linter(async ({ state }) => (await check(state.doc.toString())).map((one) => marked(state, one)), {
    delay: CHECK_DELAY_MS
  })
  const differences = new Compartment()
  const extensions = [
    differences.of([]),
    ...[
      lineNumbers(),
      history(),
      drawSelection(),
      bracketMatching(),
      highlightActiveLine(),
      yaml(),
      indentUnit.of('  ')
    ],
    autocompletion({ override: [(context) => completed(context, schema)], icons: false }),
    ...[lint, lintGutter(), hover(schema), LOOK, syntaxHighlighting(COLOURS)],
    keymap.of([...completionKeymap, ...lintKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
    EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
    EditorView.updateListener.of(({ docChanged, state }) => {
      if (docChanged) onChange(state.doc.toString())
    })
  ]
  const view = new EditorView({ root, parent: root, state: EditorState.create({ doc: text, extensions }) })
  return {
    show: (line, column) => {
      const anchor = offsetOf(view.state, line, column)
      view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) })
      view.focus()
    },
    replace: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
    compare: (original) => {
      const drawn = original === null ? [] : unifiedMergeView({ original, ...DIFFERENCES })
      view.dispatch({ effects: differences.reconfigure(drawn) })
    },
    destroy: () => view.destroy()
  }
}

/** Keys of the schema at the place, or its values; nothing in comments. */
async function completed({ state, pos, explicit }: CompletionContext, schema: EditorParts['schema']) {
  const { path, kind, word } = placeIn(state.doc.toString(), pos)
  if (word.startsWith('#') || (word === '' && !explicit)) return null
  const root = await schema()
  const options = kind === 'key' ? keysAt(root, path) : valuesAt(root, path)
  const result: CompletionResult = {
    from: pos - word.length,
    validFor: /^[\w$-]*$/,
    options: options.map(({ label, detail, about }) => ({
      ...{ label, detail, info: about },
      apply: kind === 'key' ? `${label}: ` : label
    }))
  }
  return result
}

/** What a key is about, where the pointer rests on it. */
function hover(schema: EditorParts['schema']) {
  return hoverTooltip(async ({ state }, pos) => {
    const word = state.wordAt(pos)
    if (word === null || !/^["']?\s*:/.test(state.sliceDoc(word.to, word.to + 8))) return null
    const { path } = placeIn(state.doc.toString(), word.from)
    const about = aboutAt(await schema(), [...path, state.sliceDoc(word.from, word.to)])
    if (about === null) return null
    const dom = document.createElement('div')
    dom.textContent = about
    return { pos: word.from, end: word.to, create: () => ({ dom }) }
  })
}

/** To the end of the word, or of the line where there is none. */
function marked(state: EditorState, { line, column, message }: Mistake): Diagnostic {
  const from = offsetOf(state, line, column)
  const rest = state.doc.lineAt(from).to
  const word = /^[^\s:,\]}]+/.exec(state.sliceDoc(from, rest))?.[0].length ?? 0
  return { from, to: word > 0 ? from + word : rest, severity: 'error', message }
}

function offsetOf({ doc }: EditorState, line: number, column: number): number {
  const { from, to } = doc.line(Math.min(Math.max(1, line), doc.lines))
  return Math.min(from + Math.max(0, column - 1), to)
}
