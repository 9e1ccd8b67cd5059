/** What a host of AWS says of the signatures that it wants ("AWS service endpoints" of the AWS General Reference). */

const REGIONAL = /(?:^|\.)([a-z0-9-]+)\.([a-z]{2}(?:-[a-z]+)+-\d)\.(?:amazonaws\.com(?:\.cn)?|api\.aws|on\.aws)$/

/** First label before the region -> service in the scope of a signature, where it is known. */
const SERVICES: Readonly<Record<string, string>> = {
  'execute-api': 'execute-api',
  'lambda-url': 'lambda',
  lambda: 'lambda',
  s3: 's3',
  sqs: 'sqs',
  sns: 'sns',
  dynamodb: 'dynamodb',
  kinesis: 'kinesis',
  secretsmanager: 'secretsmanager',
  aoss: 'aoss',
  bedrock: 'bedrock',
  'bedrock-runtime': 'bedrock',
  'bedrock-agent-runtime': 'bedrock',
  'bedrock-agentcore': 'bedrock-agentcore',
  sagemaker: 'sagemaker',
  'vpc-lattice-svcs': 'vpc-lattice-svcs'
}

export interface AwsScope {
  /** Null: the host does not say it. */
  readonly region: string | null
  readonly service: string | null
}

export function awsScopeOf(host: string): AwsScope {
  const [, label = '', region = null] = REGIONAL.exec(host.toLowerCase()) ?? []
  return { region, service: Object.hasOwn(SERVICES, label) ? SERVICES[label]! : null }
}
