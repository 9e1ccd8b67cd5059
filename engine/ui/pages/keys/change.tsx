/** Rotates, revokes, restores and removes a key, each after a question. */
import { useState } from 'preact/hooks'
import { call } from '#engine/ui/api/client.ts'
import { announce } from '#engine/ui/app/announce.ts'
import { Confirm } from '#engine/ui/parts/confirm.tsx'
import { Choice } from '#engine/ui/parts/form.tsx'
import type { Key } from './key.ts'
import { MadeValue } from './value.tsx'

export type Change = 'rotate' | 'revoke' | 'restore' | 'remove'

export interface ChangeProps {
  readonly change: Change
  readonly name: Key['name']
  readonly onDone: () => void
  readonly onClose: () => void
}

export function ChangeKey(props: ChangeProps) {
  if (props.change === 'rotate') return <Rotate {...props} />
  return <Simple {...props} change={props.change} />
}

interface Words {
  readonly verb: string
  readonly about: string
  readonly done: string
  readonly isDangerous: boolean
}

const WORDS: { readonly [change in Exclude<Change, 'rotate'>]: Words } = {
  revoke: {
    verb: 'Revoke',
    about: 'Requests with it are refused from now on. It can be restored.',
    done: 'is revoked',
    isDangerous: true
  },
  restore: { verb: 'Restore', about: 'Requests with it are served again.', done: 'is good again', isDangerous: false },
  remove: {
    verb: 'Remove',
    about: 'It is gone for good. What it has spent stays in the books.',
    done: 'is gone',
    isDangerous: true
  }
}

function Simple({ change, name, onDone, onClose }: ChangeProps & { readonly change: keyof typeof WORDS }) {
  const { verb, about, done, isDangerous } = WORDS[change]
  const confirm = async () => {
    if (change === 'remove') await call('removeKey', { names: { name } })
    else await call('changeKey', { names: { name }, body: { revoked: change === 'revoke' } })
    announce(`Key ${name} ${done}.`)
    onDone()
    onClose()
  }
  return (
    <Confirm title={`${verb} key ${name}`} verb={verb} isDangerous={isDangerous} onConfirm={confirm} onClose={onClose}>
      <p>{about}</p>
    </Confirm>
  )
}

const GRACES = [
  ['0s', 'not at all'],
  ['1h', 'for an hour'],
  ['24h', 'for a day'],
  ['168h', 'for a week']
] as const

function Rotate({ name, onDone, onClose }: ChangeProps) {
  const [grace, setGrace] = useState('24h')
  const [value, setValue] = useState<string | null>(null)
  const confirm = async () => {
    setValue((await call('rotateKey', { names: { name }, body: { gracePeriod: grace } })).key)
    onDone()
  }
  const shown = GRACES.find(([length]) => length === grace)?.[1] ?? grace
  if (value !== null)
    return (
      <MadeValue title={`Key ${name}`} value={value} note={`The value before is good ${shown}.`} onClose={onClose} />
    )
  return (
    <Confirm title={`Rotate key ${name}`} verb="Rotate" onConfirm={confirm} onClose={onClose}>
      <p>It gets a new value.</p>
      <Choice label="The value before is good" value={grace} onChange={setGrace} options={GRACES} />
    </Confirm>
  )
}
