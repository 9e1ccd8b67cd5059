/** Configuration: what runs, and a text that is checked as it is written. */
import { Draft } from './draft.tsx'
import { Logging } from './logging.tsx'
import { Running } from './running.tsx'

export default function Configuration() {
  return (
    <>
      <Draft />
      <Running />
      <Logging />
    </>
  )
}
