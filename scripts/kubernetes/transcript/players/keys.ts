/** Keys of AWS that the transcript's Secret has, and the echo judges by. */
import type { AwsKeys } from '#engine/testing/aws.ts'

export const CLOUD_KEYS: AwsKeys = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'
}
