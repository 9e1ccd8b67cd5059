/** What checking a text has found. */
import type { Answer } from '#engine/ui/api/client.ts'
import { Badge } from '#engine/ui/parts/badge.tsx'

type Checked = Answer<'checkConfiguration'>

export function Verdict({ of: { isValid, isInForce, errorCount } }: { readonly of: Checked }) {
  if (isInForce) return <Badge tone="ok">this is what runs</Badge>
  if (isValid) return <Badge tone="ok">it could run</Badge>
  return <Badge tone="bad">{errorCount === 1 ? 'one mistake' : `${errorCount} mistakes`}</Badge>
}

interface FindingsProps {
  readonly of: Checked
  readonly onShow: (line: number, column: number) => void
}

export function Findings({ of: { errors, errorCount, warnings }, onShow }: FindingsProps) {
  if (errors.length === 0 && warnings.length === 0) return null
  return (
    <ul class="findings" aria-live="polite" aria-label="Mistakes and warnings">
      {errors.map((error) => (
        <li key={`${error.line} ${error.column} ${error.message}`}>
          <button type="button" class="link" onClick={() => onShow(error.line, error.column)}>
            {error.line}:{error.column}
          </button>{' '}
          {error.path !== '' && <code>{error.path}</code>} {error.message}
          {error.hint !== null && <span class="muted"> {error.hint}</span>}
        </li>
      ))}
      {errorCount > errors.length && <li class="muted">and {errorCount - errors.length} more</li>}
      {warnings.map((warning) => (
        <li key={warning}>
          <Badge tone="warn">warning</Badge> {warning}
        </li>
      ))}
    </ul>
  )
}
