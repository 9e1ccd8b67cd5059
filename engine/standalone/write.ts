/** Writes a configuration: plain values as YAML, with comments. */
import { Document, isMap, isNode, isScalar, isSeq, type Node } from 'yaml'
import type { Path } from '#engine/schema/placed.ts'

/** Lines of a comment by the place that they stand above. */
export type Comments = readonly (readonly [at: Path, lines: readonly string[]])[]

/** `head`: comment at the top. Reading the text gives `value` again, with the variables that it names. */
export function writeConfig(value: unknown, comments: Comments, head: readonly string[]): string {
  const document = new Document(value, { aliasDuplicateObjects: false })
  for (const [path, lines] of comments) {
    const node = placeOf(document, path)
    if (node !== null) node.commentBefore = [node.commentBefore, commentText(lines)].filter(Boolean).join('\n')
  }
  const body = document.toString({ lineWidth: 0, flowCollectionPadding: true })
  return `${head.map((line) => `#${commentText([line])}\n`).join('')}${head.length === 0 ? '' : '\n'}${body}`
}

/** The key of a map's entry, or the entry of a list. */
function placeOf(document: Document, path: Path): Node | null {
  const key = path.at(-1)
  const container = path.length < 2 ? document.contents : document.getIn(path.slice(0, -1), true)
  if (isSeq(container)) {
    const item = container.items[Number(key)]
    return isNode(item) ? item : null
  }
  if (!isMap(container)) return null
  const found = container.items.find(({ key: own }) => isScalar(own) && own.value === key)
  return isNode(found?.key) ? found.key : null
}

/** No line of another file ends a comment. */
function commentText(lines: readonly string[]): string {
  return lines
    .map((line) => ` ${line.replace(/[\u0000-\u0008\u000a-\u001f\u007f\u0085\u2028\u2029]/g, ' ')}`)
    .join('\n')
}
