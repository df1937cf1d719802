"""Where we read 000 otherwise than it is printed, or leave it."""

from headrace.lab.papers import Deviation

DEVIATIONS = (
    Deviation(
        "eq. 1",
        "The denominator is 1/μ + (h_avg + 1) r + B, as in eq. 13.",
        "As printed the reply's message is forgotten, and production and consumption do not balance.",
    ),
    Deviation(
        "section 4.1, W and T",
        "W = (h_avg + 1) r + B and T = M μ U_c = N λ U_p.",
        "Eq. 9 already carries p_mt^h_max; T as printed has the dimension of a time.",
    ),
    Deviation(
        "eq. 3",
        "In state s ≤ 0 requests arrive at (M + s)/M of the full rate, which is scaled so that its mean is μ_c; p_mt "
        "and B_c are weighted by it. In model 3, M is M_j.",
        "μ_c already contains B, so that as printed blocking counts twice: with one producer, one consumer and no "
        "message time W is 11.3 as printed, 16.67 corrected, and 16.67 exactly.",
    ),
    Deviation(
        "eq. 4",
        "The approximation is offered beside eq. 3, and both are compared with the simulation.",
        "Most requests that wait do so at other producers: with 5 producers, 8 consumers and one probe eq. 3 is 16 % "
        "off, eq. 4 is 1 % off.",
    ),
    Deviation(
        "section 4.2",
        "A producer of type k gets N frac_k μ_c / N_k requests.",
        "As printed the factor is M, but eq. 1's μ_c is already a rate by producer.",
    ),
    Deviation(
        "eq. 12, eq. 17",
        "B = p_mt^(h_max−1) B_c, as in eq. 18.",
        "Both sums already carry one p_mt.",
    ),
    Deviation(
        "sections 4.1.1 and 4.2.1, convergence",
        "The models are solved by damped iteration with mixing, and by bracketing where that circles.",
        "What did not converge was the plain iteration; the solution is there and agrees with the simulation.",
    ),
    Deviation(
        "section 2, production",
        "Production stops once the f-th object is stored: nothing is held in hand.",
        "That is what the producer's program says; holding one more is another system.",
    ),
    Deviation(
        "section 2, probes",
        "A forwarded probe is drawn again from the consumer's p_access with replacement.",
        "The program does not remember who was asked; leaving out those visited is an option.",
    ),
    Deviation(
        "figures 4 and 5",
        "Both p_mt and p(f), and both U_p and p(f), are shown.",
        "The text names one and the caption the other.",
    ),
    Deviation(
        "figure 6",
        "Besides uniform times in [50, 100] also in [50, 150].",
        "The paper's uniform times shorten the mean to 75, so that less waiting is not due to less variance alone.",
    ),
    Deviation(
        "figure 9",
        "Reach sets are drawn at random and in balance; the planner balances them.",
        "The paper does not say how its sets were drawn, and it decides the result.",
    ),
    Deviation(
        "section 2, the other designs",
        "The centralized buffer tells a producer when there is room (a fourth message); a consumer with a stale table "
        "is told so and asks another, and after h_max misses waits where it missed last.",
        "The paper leaves both open.",
    ),
)
