/**
 * Manifests of Kubernetes: several YAML documents in one text or in several, each an object. They mean here what they
 * mean to kubectl, so $NAME is no variable in them.
 */
import { readPlainSource, readSource, type Source } from './source.ts'
import { TEXT_LENGTH_MAX } from './source-shape.ts'
import type { NamedText } from './texts.ts'

/** YAML 1.2.2, 9.1.2: at the start of a line it stands for nothing else, whatever is around it. kubectl splits so. */
const DOCUMENT = /^---(?=[ \t\r]|$)/gm

export interface ManifestDocument extends Source {
  /** The name of the text that it is in. */
  readonly file: string
}

/**
 * The documents of all `texts`, with places as they are in the whole of each, or null when these are configurations of
 * weir. `isObject`: whether a value is an object of Kubernetes. Never throws.
 */
export function readManifest(
  texts: readonly NamedText[],
  isObject: (value: unknown) => boolean
): readonly ManifestDocument[] | null {
  if (!texts.some(({ text }) => text.length <= TEXT_LENGTH_MAX && text.includes('apiVersion'))) return null
  const documents = texts.flatMap(documentsOf)
  return documents.some(({ value }) => isObject(value)) ? documents : null
}

function documentsOf({ name, text }: NamedText): readonly ManifestDocument[] {
  // It refuses what is too long.
  if (text.length > TEXT_LENGTH_MAX) return [{ ...readSource(text, {}), file: name }]
  const starts = [0, ...[...text.matchAll(DOCUMENT)].map(({ index }) => index)]
  let line = 0
  return starts.map((start, i) => {
    const own = text.slice(start, starts[i + 1])
    const source = moved(readPlainSource(own), line)
    line += own.split('\n').length - 1
    return { ...source, file: name }
  })
}

/** `lines`: ahead of the document. */
function moved(source: Source, lines: number): Source {
  const position: Source['position'] = (offset) => {
    const { line, column } = source.position(offset)
    return { line: line + lines, column }
  }
  return { ...source, position }
}
