import { Badge, type Tone } from '#engine/ui/parts/badge.tsx'
import type { KeyState } from './key.ts'

const TONES: { readonly [state in KeyState]: Tone } = {
  active: 'ok',
  rotating: 'warn',
  expired: 'plain',
  revoked: 'bad'
}

export function StateBadge({ state }: { readonly state: KeyState }) {
  return <Badge tone={TONES[state]}>{state}</Badge>
}
