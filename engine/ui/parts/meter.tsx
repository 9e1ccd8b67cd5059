/** How much of something is used. */
import { percent } from '#engine/ui/format/numbers.ts'

export interface MeterProps {
  readonly label: string
  /** 0..1, and above. */
  readonly share: number
}

/** From here on somebody should look. */
const MUCH = 0.8

export function Meter({ label, share }: MeterProps) {
  const tone = share >= 1 ? 'bad' : share >= MUCH ? 'warn' : 'ok'
  return (
    <span class="used">
      <progress class={tone} aria-label={label} max={1} value={Math.min(1, Math.max(0, share))} />
      <span>{percent(share)}</span>
    </span>
  )
}
