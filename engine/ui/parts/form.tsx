/** Fields with labels, and what the API tells about them. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import type { ApiFailure } from '#engine/ui/api/client.ts'

export interface FieldProps {
  readonly label: string
  readonly hint?: string | undefined
  /** What is wrong with its value. */
  readonly wrong?: string | null
  /** Over all columns. */
  readonly isWhole?: boolean
  /** Gets what ties the control to the label and to what is told about it. */
  readonly children: (ties: Ties) => ComponentChildren
}

export interface Ties {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': 'true' | undefined
}

export function Field({ label, hint, wrong = null, isWhole = false, children }: FieldProps) {
  const id = useId()
  const note = wrong ?? hint
  return (
    <div class={isWhole ? 'field whole' : 'field'}>
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-describedby': note === undefined ? undefined : `${id}-note`,
        'aria-invalid': wrong === null ? undefined : 'true'
      })}
      {note !== undefined && (
        <small id={`${id}-note`} class={wrong === null ? undefined : 'wrong'}>
          {note}
        </small>
      )}
    </div>
  )
}

export interface TextFieldProps extends Omit<FieldProps, 'children'> {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly placeholder?: string
  readonly type?: 'text' | 'date' | 'number' | 'search'
  readonly isRequired?: boolean
  /** Texts to choose from; others are taken, too. */
  readonly options?: readonly string[]
}

export function TextField({
  value,
  onInput,
  placeholder,
  type = 'text',
  isRequired = false,
  options = [],
  ...field
}: TextFieldProps) {
  return (
    <Field {...field}>
      {(ties) => (
        <>
          <input
            {...ties}
            type={type}
            value={value}
            placeholder={placeholder}
            required={isRequired}
            list={options.length === 0 ? undefined : `${ties.id}-list`}
            autocomplete="off"
            spellcheck={false}
            onInput={({ currentTarget }) => onInput(currentTarget.value)}
          />
          {options.length > 0 && (
            <datalist id={`${ties.id}-list`}>
              {options.map((option) => (
                <option key={option} value={option} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  )
}

export interface ChoiceProps extends Omit<FieldProps, 'children'> {
  readonly value: string
  readonly onChange: (value: string) => void
  /** Values with what is shown for them. */
  readonly options: readonly (readonly [value: string, title: string])[]
}

export function Choice({ value, onChange, options, ...field }: ChoiceProps) {
  return (
    <Field {...field}>
      {(ties) => (
        <select {...ties} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          {options.map(([option, title]) => (
            <option key={option} value={option}>
              {title}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/** What a failure says about a field, or about one inside of it: "budgets[0].amount" is about budgets. */
export function wrongWith(failure: ApiFailure | null, field: string): string | null {
  if (failure?.field === null || failure === null) return null
  const isAbout =
    failure.field === field || failure.field.startsWith(`${field}[`) || failure.field.startsWith(`${field}.`)
  return isAbout ? failure.message : null
}
