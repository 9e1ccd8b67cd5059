/**
 * Manifests of Kubernetes: several YAML documents in one text, each an object. They mean here what they mean to
 * kubectl, so $NAME is no variable in them.
 */
import { readPlainSource, type Source } from './source.ts'
import { TEXT_LENGTH_MAX } from './source-shape.ts'

/** YAML 1.2.2, 9.1.2: at the start of a line it stands for nothing else, whatever is around it. kubectl splits so. */
const DOCUMENT = /^---(?=[ \t\r]|$)/gm

/**
 * The documents of `text`, with places as they are in the whole of it, or null when it is a configuration of weir.
 * `isObject`: whether a value is an object of Kubernetes. Never throws.
 */
export function readManifest(text: string, isObject: (value: unknown) => boolean): readonly Source[] | null {
  if (text.length > TEXT_LENGTH_MAX || !text.includes('apiVersion')) return null
  const starts = [0, ...[...text.matchAll(DOCUMENT)].map(({ index }) => index)]
  let line = 0
  const documents = starts.map((start, i) => {
    const own = text.slice(start, starts[i + 1])
    const source = moved(readPlainSource(own), line)
    line += own.split('\n').length - 1
    return source
  })
  return documents.some(({ value }) => isObject(value)) ? documents : null
}

/** `lines`: ahead of the document. */
function moved(source: Source, lines: number): Source {
  const position: Source['position'] = (offset) => {
    const { line, column } = source.position(offset)
    return { line: line + lines, column }
  }
  return { ...source, position }
}
