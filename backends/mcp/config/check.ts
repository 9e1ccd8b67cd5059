/** What an `mcp` backend refers to: files, and documents of APIs. */
import type { Report } from '#engine/contract/backend-config.ts'
import type { DocumentSources } from '#engine/contract/policy.ts'
import { entriesOf, objectOf, type Path, type Placed, text } from '#engine/schema/placed.ts'
import { readDocument } from './document.ts'
import { readKey } from './session-key.ts'
import { isFetched } from './targets.ts'

export function checkFiles({ raw: mcp, path: at }: Placed, sources: DocumentSources, report: Report): void {
  const attempt = (path: Path, read: () => unknown): void => {
    try {
      read()
    } catch (error) {
      report(path, (error as Error).message, 'value')
    }
  }
  const file = text(objectOf(objectOf(mcp.session).key).file)
  if (file !== undefined) attempt([...at, 'session', 'key', 'file'], () => readKey({ file }, sources))
  for (const { raw, path } of entriesOf(mcp.targets, [...at, 'targets'])) {
    const { schema } = objectOf(raw.openapi)
    const place = [...path, 'openapi', 'schema']
    const { file: name, url } = { file: text(objectOf(schema).file), url: text(objectOf(schema).url) }
    if (typeof schema === 'string') attempt(place, () => readDocument(schema, sources))
    else if (name !== undefined) attempt([...place, 'file'], () => readDocument({ file: name }, sources))
    else if (url !== undefined && isFetched(url)) attempt([...place, 'url'], () => readDocument({ url }, sources))
  }
}
