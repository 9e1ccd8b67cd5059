/** Makes a key: a form, then its value, which is shown once. */
import { useState } from 'preact/hooks'
import { type Answer, type ApiFailure, call } from '#engine/ui/api/client.ts'
import { Dialog } from '#engine/ui/parts/dialog.tsx'
import { Choice, TextField, wrongWith } from '#engine/ui/parts/form.tsx'
import { Failure } from '#engine/ui/parts/state.tsx'
import { bodyOf, type Draft, EMPTY, PERIODS } from './key.ts'
import { MadeValue } from './value.tsx'

/** Fields that the form has: what the API says of others is shown below. */
const FIELDS: readonly string[] = ['name', 'owner', 'team', 'models', 'tags', 'expires', 'budgets']

export interface CreateProps {
  readonly teams: readonly string[]
  readonly onMade: () => void
  readonly onClose: () => void
}

export function Create({ teams, onMade, onClose }: CreateProps) {
  const [draft, setDraft] = useState<Draft>(EMPTY)
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const [made, setMade] = useState<Answer<'createKey'> | null>(null)
  const set = (field: keyof Draft) => (value: string) => setDraft((before) => ({ ...before, [field]: value }))
  const wrong = (field: string) => wrongWith(failure, field)
  const submit = async (event: Event) => {
    event.preventDefault()
    try {
      setMade(await call('createKey', { body: bodyOf(draft) }))
      onMade()
    } catch (problem) {
      setFailure(problem as ApiFailure)
    }
  }
  if (made !== null) return <MadeValue title={`Key ${made.name}`} value={made.key} onClose={onClose} />
  const isElsewhere = failure !== null && !FIELDS.some((field) => wrong(field) !== null)
  return (
    <Dialog title="New key" onClose={onClose}>
      <form class="stack" onSubmit={(event) => void submit(event)}>
        <Fields draft={draft} teams={teams} failure={failure} onSet={set} />
        {isElsewhere && <Failure message={failure.message} />}
        <p class="actions">
          <button type="submit" class="primary">
            Make the key
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  )
}

interface FieldsProps {
  readonly draft: Draft
  readonly teams: readonly string[]
  readonly failure: ApiFailure | null
  readonly onSet: (field: keyof Draft) => (value: string) => void
}

function Fields({ draft, teams, failure, onSet }: FieldsProps) {
  const wrong = (field: string) => wrongWith(failure, field)
  return (
    <div class="fields">
      <TextField label="Name" value={draft.name} onInput={onSet('name')} wrong={wrong('name')} isRequired />
      <TextField
        label="Owner"
        value={draft.owner}
        onInput={onSet('owner')}
        wrong={wrong('owner')}
        hint="Who answers for it."
      />
      <TextField label="Team" value={draft.team} onInput={onSet('team')} wrong={wrong('team')} options={teams} />
      <TextField
        label="Expires"
        type="date"
        value={draft.expires}
        onInput={onSet('expires')}
        wrong={wrong('expires')}
        hint="At the end of this day, UTC."
      />
      <TextField
        label="Models"
        value={draft.models}
        onInput={onSet('models')}
        wrong={wrong('models')}
        placeholder="gpt-*, claude-*"
        hint="Empty: all."
      />
      <TextField label="Tags" value={draft.tags} onInput={onSet('tags')} wrong={wrong('tags')} />
      <TextField
        label="Budget"
        value={draft.amount}
        onInput={onSet('amount')}
        wrong={wrong('budgets')}
        placeholder="5.00"
        hint="Empty: none of its own."
      />
      <Choice
        label="Budget period"
        value={draft.period}
        onChange={onSet('period')}
        options={PERIODS.map((one) => [one, one])}
      />
    </div>
  )
}
