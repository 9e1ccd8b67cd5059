/** A button that calls an operation: for whom may call it. */
import type { ButtonHTMLAttributes } from 'preact'
import { type OperationId, whyNot } from '#engine/ui/api/client.ts'

export interface ActProps extends ButtonHTMLAttributes {
  /** What it calls in the end, maybe behind a question. */
  readonly of: OperationId
}

export function Act({ of, disabled = false, ...rest }: ActProps) {
  const why = whyNot(of)
  return <button type="button" {...rest} disabled={why !== null || disabled} title={why ?? undefined} />
}
