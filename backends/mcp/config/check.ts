/** What an `mcp` backend refers to: files, and what its targets refer to. */
import { TARGET_KEYS } from '#backends/mcp/targets/index.ts'
import type { Report } from '#engine/contract/backend-config.ts'
import type { DocumentSources } from '#engine/contract/policy.ts'
import { entriesOf, objectOf, type Path, type Placed, text } from '#engine/schema/placed.ts'
import { readKey } from './session-key.ts'

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
    for (const key of TARGET_KEYS) {
      key.check?.({ raw: objectOf(raw[key.name]), path: [...path, key.name] }, sources, attempt)
    }
  }
}
