/** All keys, on "?". */
import { signal } from '@preact/signals'
import { PAGES } from '#engine/ui/pages/index.ts'
import { Dialog } from '#engine/ui/parts/dialog.tsx'

export const isHelpOpen = signal(false)

const ANYWHERE = [
  ['/', 'to the search field'],
  ['p', 'pause, and go on'],
  ['?', 'this list'],
  ['Esc', 'close what is open, leave a field']
] as const

export function Help() {
  return (
    <Dialog title="Keys" onClose={() => (isHelpOpen.value = false)}>
      <dl class="keys">
        {ANYWHERE.map(([key, what]) => (
          <Row key={key} keys={[key]} what={what} />
        ))}
        {PAGES.map(({ key, title }) => (
          <Row key={key} keys={['g', key]} what={title} />
        ))}
      </dl>
    </Dialog>
  )
}

function Row({ keys, what }: { readonly keys: readonly string[]; readonly what: string }) {
  return (
    <div>
      <dt>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{what}</dd>
    </div>
  )
}
